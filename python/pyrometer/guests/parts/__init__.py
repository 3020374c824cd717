"""What a machine is made of: kernel, modules, first files, and disks of this host's own files."""

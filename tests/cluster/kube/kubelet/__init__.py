"""A kubelet whose containers are processes of its host, for test beds: standard library only.

``python -S -m tests.cluster.kube.kubelet SETTINGS`` on each node. Images are a table of names: what
a container sees is its host's files, with those of the image, of its volumes and its own over them.
"""

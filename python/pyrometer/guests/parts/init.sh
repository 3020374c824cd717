#!/bin/busybox sh
# First process of a machine: loads modules, mounts disks, starts what the trial is, and ends.
# Written for busybox alone. What fails ends the machine, with one line to the host.
B=/bin/busybox
export PATH=/bin
$B mkdir -p /proc /sys /dev /images /scratch /new
$B mount -t proc proc /proc
$B mount -t sysfs sysfs /sys
$B mount -t devtmpfs devtmpfs /dev
PORT=/dev/null
up() { $B cut -d' ' -f1 /proc/uptime; }
say() { echo "$1 $(up) $2" >$PORT; }
finish() { $B sync; $B poweroff -f; }
fail() { echo "pyrometer: $1"; say failed "$1"; finish; }
kernel_up=$(up)
while read -r module; do
    $B insmod "/modules/$module.ko" || fail "module $module does not load"
done </modules/order
port() {
    for entry in /sys/class/virtio-ports/*; do
        [ "$($B cat "$entry/name" 2>/dev/null)" = "$1" ] && echo "/dev/${entry##*/}" && return
    done
}
disk() {
    for entry in /sys/block/vd*; do
        [ "$($B cat "$entry/serial" 2>/dev/null)" = "$1" ] && echo "/dev/${entry##*/}" && return
    done
}
tries=0
while [ -z "$(port boot)" ] && [ $tries -lt 100 ]; do $B usleep 50000; tries=$((tries + 1)); done
PORT=$(port boot)
[ -n "$PORT" ] || { PORT=/dev/null; fail "the serial port to the host is missing"; }
echo "kernel $kernel_up" >$PORT
say modules
lower=
for name in $($B cat /machine/images); do
    device=$(disk "$name")
    [ -n "$device" ] || fail "disk $name is missing"
    $B mkdir -p "/images/$name"
    $B mount -t ext4 -o ro,noload "$device" "/images/$name" || fail "disk $name cannot be mounted"
    lower="/images/$name${lower:+:}$lower"
done
device=$(disk scratch)
[ -n "$device" ] || fail "disk scratch is missing"
type=$($B cat /machine/filesystem 2>/dev/null || echo ext4)
$B mount -t "$type" "$device" /scratch || fail "disk scratch cannot be mounted"
$B mkdir -p /scratch/upper /scratch/work /scratch/run
$B mount -t overlay -o "lowerdir=$lower,upperdir=/scratch/upper,workdir=/scratch/work" overlay /new \
    || fail "the disks cannot be laid over each other"
say mounted
device=$(disk swap)
if [ -n "$device" ]; then
    $B mkswap "$device" >/dev/null && $B swapon "$device" || fail "swap cannot be turned on"
fi
if [ -f /machine/lru_gen ]; then
    $B cat /machine/lru_gen >/sys/kernel/mm/lru_gen/enabled 2>/dev/null \
        || fail "this kernel has no multi-generational LRU (machine.lru_gen)"
fi
$B mkdir -p /new/proc /new/sys /new/dev /new/run /new/tmp /new/etc /new/pyrometer /new/usr/bin
$B mount -t proc proc /new/proc
$B mount -t sysfs sysfs /new/sys
$B mount -t devtmpfs devtmpfs /new/dev
$B mkdir -p /new/dev/shm /new/dev/pts
$B mount -t tmpfs tmpfs /new/dev/shm
$B mount -t devpts devpts /new/dev/pts
# Files of this trial below /run stay where they are.
[ -n "$($B ls -A /new/run)" ] || $B mount -t tmpfs -o size=16m tmpfs /new/run
$B chmod 1777 /new/tmp
$B mount -t cgroup2 cgroup2 /new/sys/fs/cgroup 2>/dev/null
$B mount -t tracefs tracefs /new/sys/kernel/tracing 2>/dev/null
$B mount -t debugfs debugfs /new/sys/kernel/debug 2>/dev/null
echo "root:x:0:0:root:/root:/bin/sh" >/new/etc/passwd
echo "root:x:0:" >/new/etc/group
echo "127.0.0.1 localhost $($B cat /machine/hostname)" >/new/etc/hosts
echo "hosts: files" >/new/etc/nsswitch.conf
$B hostname "$($B cat /machine/hostname)"
$B ip link set lo up || $B ifconfig lo 127.0.0.1 up
$B cp /bin/busybox /new/pyrometer/busybox
$B cp /machine/* /new/pyrometer/
for link in fd:fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do
    $B ln -sf "/proc/self/${link#*:}" "/new/dev/${link%:*}"
done
$B mkdir -p /new/pyrometer/bin
$B chroot /new /pyrometer/busybox --install -s /pyrometer/bin
[ -e /new/bin ] || $B ln -s usr/bin /new/bin
[ -e /new/bin/sh ] || $B ln -s /pyrometer/busybox /new/bin/sh
[ -e /new/usr/bin/env ] || $B ln -s /pyrometer/busybox /new/usr/bin/env
run=$($B cat /machine/run_dir)
$B mkdir -p "/new$run"
$B mount --bind /scratch/run "/new$run"
say started
export PATIENCE=${PATIENCE:-1}
STREAM=$(port stream) $B chroot /new /pyrometer/busybox sh /pyrometer/start.sh </dev/null
say ended $?
finish

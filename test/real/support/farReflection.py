"""A network device behind which this machine is far away from itself.

What is sent over IPv4 to 10.77.0.2 comes back from there to 10.77.0.1, each packet 150 ms later: sender and receiver
are swapped, which leaves the checksums as they are. What is sent over IPv6 is dropped.
"""

import fcntl
import os
import struct
import subprocess
import threading

ONE_WAY_SECONDS = 0.15
TUNSETIFF = 0x400454CA
IFF_TUN_WITHOUT_HEADER = 0x1001

device = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", b"far", IFF_TUN_WITHOUT_HEADER))
for words in ("addr add 10.77.0.1/24 dev far", "addr add 2001:db8::1/64 dev far nodad", "link set far up"):
    subprocess.run(["ip", *words.split()], check=True)
print("ready", flush=True)
while True:
    packet = os.read(device, 65536)
    if packet[0] >> 4 == 4:
        swapped = packet[:12] + packet[16:20] + packet[12:16] + packet[20:]
        threading.Timer(ONE_WAY_SECONDS, os.write, (device, swapped)).start()

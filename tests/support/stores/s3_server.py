"""A server of S3 that holds folders: ``python s3_server.py FOLDER NAME…``, until stdin ends."""

from __future__ import annotations

import sys
from pathlib import Path

BUCKET = "lab"


def main() -> None:
    """Serve; the first line of stdout is the address."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    client = boto3.client(
        "s3", endpoint_url=address, region_name="us-east-1",
        aws_access_key_id="test", aws_secret_access_key="test",
    )  # fmt: skip
    client.create_bucket(Bucket=BUCKET)
    for folder, name in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file():
                key = f"{name}/{path.relative_to(folder)}"
                client.put_object(Bucket=BUCKET, Key=key, Body=path.read_bytes())
    print(address, flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()

# ruff: noqa: E501
"""Secrets of many kinds as they stand in commands, settings and addresses; none is anybody's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Planted:
    """A secret among the words of a command."""

    kind: str
    secret: str
    words: tuple[str, ...]


def _conf(name: str, secret: str, kind: str) -> Planted:
    return Planted(kind, secret, ("--conf", f"{name}={secret}"))


PLANTED = (
    _conf("spark.hadoop.fs.s3a.secret.key", "s3cr3tS3aKey", "S3A secret key"),
    _conf("spark.hadoop.fs.s3a.access.key", "s3aAcc3ss", "S3A access key"),
    _conf("spark.hadoop.fs.s3a.session.token", "s3aSess10n", "S3A session token"),
    _conf("spark.hadoop.fs.azure.account.key.acc.blob.core.windows.net", "azAccKey==", "Azure key"),
    _conf("spark.hadoop.fs.azure.sas.box.acc.blob.core.windows.net", "azSasValue", "Azure SAS"),
    _conf("spark.hadoop.fs.gs.auth.service.account.private.key", "gcsPr1v", "GCS private key"),
    _conf("spark.ssl.keyStorePassword", "k3yst0re", "key store"),
    _conf("spark.ssl.keyPassword", "k3yPwd", "key"),
    _conf("spark.authenticate.secret", "auth5ecret", "authentication"),
    _conf("spark.datasource.jdbc.passwd", "jdbcPasswd", "passwd"),
    _conf("spark.mongodb.credentials", "m0ngo", "credentials"),
    _conf("spark.es.net.http.auth.pwd", "elast1c", "pwd"),
    _conf("spark.my.api_key", "ap1Key99", "API key"),
    _conf("spark.my.apiKey", "ap1KeyCamel", "API key, camel"),
    _conf("spark.my.passphrase", "open5esame", "passphrase"),
    _conf("spark.executorEnv.AWS_SECRET_ACCESS_KEY", "awsEnvS3cret", "environment of executors"),
    Planted("conf as one word", "oneW0rd", ("--conf=spark.x.password=oneW0rd",)),
    Planted("option and value", "0ptVal", ("--password", "0ptVal")),
    Planted("option with equals", "eqT0ken", ("--auth-token=eqT0ken",)),
    Planted("system property", "trust5tore", ("-Djavax.net.ssl.trustStorePassword=trust5tore",)),
    Planted("option of a JVM", "cd;3f", ("--conf", "spark.executor.extraJavaOptions=-Dmy.password=ab&cd;3f -Dy=1")),
    Planted("option of a JVM, quoted", "battery st4ple", ("--conf", 'spark.driver.extraJavaOptions="-Dx.keyStorePassword=correct battery st4ple"')),
    Planted("option of a JVM, in single quotes", "and m0re", ("--driver-java-options", "'-Dmy.token=some and m0re' -Dy=1")),
    Planted("user info of a URL", "urlPa55", ("jdbc:postgresql://bob:urlPa55@db:5432/x",)),
    Planted("parameter of a URL", "paramPa55", ("jdbc:mysql://db/x?user=bob&password=paramPa55",)),
    Planted("SQL Server", "m5Sql", ("jdbc:sqlserver://db:1433;user=bob;password=m5Sql;encrypt=true",)),
    Planted("Oracle", "t1ger", ("jdbc:oracle:thin:scott/t1ger@db:1521:x",)),
    Planted("signed URL, AWS", "5igned", ("https://b.s3.amazonaws.com/x?X-Amz-Signature=5igned&a=1",)),
    Planted("signed URL, Azure", "a2Sig%3D", ("https://a.blob.core.windows.net/x?sv=1&sig=a2Sig%3D",)),
    Planted("bearer", "abcDEF123456", ("-H", "Authorization: Bearer abcDEF123456")),
    Planted("AWS key id", "AKIAIOSFODNN7EXAMPLE", ("AKIAIOSFODNN7EXAMPLE",)),
    Planted("JSON Web Token", "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl",
            ("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl",)),
    Planted("GitHub", "ghp_" + "a1B2" * 9, ("https://x:ghp_" + "a1B2" * 9 + "@github.com/o/r",)),
    Planted("Slack", "xoxb-1234567890-abcdef", ("xoxb-1234567890-abcdef",)),
    Planted("Databricks", "dapi" + "0123456789abcdef" * 2, ("dapi" + "0123456789abcdef" * 2,)),
    Planted("PEM", "MIIEvQIBADAN", ("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN\n-----END PRIVATE KEY-----",)),
    Planted("JSON", "j5onPw", ('{"user": "bob", "password": "j5onPw"}',)),
    Planted("YAML", "yam1Pw", ("password: yam1Pw",)),
    Planted("quoted with spaces", "two words", ('--conf', "spark.x.secret='two words'")),
    Planted("plan of a table", "plan5ecret", ("Relation OPTIONS (url `x`, password 'plan5ecret')",)),
)  # fmt: skip

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
    Planted("value like an option", "-hunter2x", ("--password", "-hunter2x")),
    Planted("SQL Server, in braces", "br4ced;2x", ("jdbc:sqlserver://db;user=bob;password={br4ced;2x};encrypt=true",)),
    Planted("user info of S3A", "s3a/S1ash", ("s3a://AKIAIOSFODNN7EXAMPLE:s3a/S1ash@bucket/x",)),
    Planted("user info with a slash", "s1a/5h", ("postgres://u:s1a/5h@h/x",)),
    Planted("token of a URL", "0nlyT0kenOfUrl", ("https://0nlyT0kenOfUrl@github.com/o/r",)),
    Planted("curl", "cur1Pw", ("curl", "-s", "-u", "bob:cur1Pw", "https://h/x")),
    Planted("curl, in one word", "cur1W0rd", ("curl -sSubob:cur1W0rd https://h/x",)),
    Planted("user and password", "us3rPw", ("--user", "bob:us3rPw")),
    Planted("user and password with equals", "us3rEq", ("--user=bob:us3rEq",)),
    Planted("MySQL", "my5qlPw", ("mysql", "-u", "root", "-pmy5qlPw", "db")),
    Planted("sshpass", "s5hPw", ("sshpass", "-p", "s5hPw", "ssh", "h")),
    Planted("basic", "bGV0dGVycw", ("-H", "Authorization: Basic bGV0dGVycw")),
    Planted("authorisation of no scheme", "raw4uthor", ("-H", "Authorization: raw4uthor")),
    _conf("spark.my.pass", "br1efPass", "pass"),
    Planted("parameter pass", "pa5sParam", ("https://h/x?user=bob&pass=pa5sParam",)),
    Planted("JSON, pass", "j5onPass", ('{"user": "bob", "pass": "j5onPass"}',)),
    Planted("option pass", "0ptPass", ("--pass", "0ptPass")),
    Planted("option that ends in pass", "0ptDbPass", ("--db-pass", "0ptDbPass")),
    Planted("option that ends in pw", "5mtp w0rd", ("--smtp-pw", "'5mtp w0rd'")),
    Planted("pw", "br1efPw", ("DB_PW=br1efPw",)),
    Planted("passcode", "pa5scode", ("passcode=pa5scode",)),
    Planted("key store of keytool", "k3ytool", ("keytool", "-storepass", "k3ytool")),
    Planted("Azure storage", "azSt0rage", ("AZURE_STORAGE_KEY=azSt0rage",)),
    Planted("parameter key", "k3yParam", ("https://h/x?key=k3yParam",)),
    Planted("parameter code", "c0deParam", ("https://h/x?a=1&code=c0deParam",)),
    Planted("SQL user", "5qlUser", ("CREATE USER bob IDENTIFIED BY '5qlUser'",)),
    Planted("element", "elem3nt", ("<user>bob</user><password>elem3nt</password>",)),
    Planted("encoded", "enc0ded", ("password%3Denc0ded%26user%3Dbob",)),
    Planted("block of YAML", "b1ockPw", ("password: |\n  b1ockPw\nuser: bob",)),
    Planted("Vault", "hvs." + "a1B2" * 6, ("hvs." + "a1B2" * 6,)),
    Planted("Google", "ya29.a0" + "a1B2" * 6, ("ya29.a0" + "a1B2" * 6,)),
    Planted("npm", "npm_" + "a1B2" * 9, ("npm_" + "a1B2" * 9,)),
    Planted("SendGrid", "SG." + "a1B2" * 5 + "." + "c3D4" * 10, ("SG." + "a1B2" * 5 + "." + "c3D4" * 10,)),
    Planted("Stripe", "sk_test_" + "a1B2" * 6, ("sk_test_" + "a1B2" * 6,)),
    Planted("Slack's webhook", "T012/B345/abcDEF", ("https://hooks.slack.com/services/T012/B345/abcDEF",)),
    Planted("long name", "l0ngName", ("x" * 250 + ".password." + "y" * 250 + "=l0ngName",)),
    Planted("literal of a program", "l1teral pw", (r'String s = "a password=\"l1teral pw\" b";',)),
    Planted("plan of a table", "plan5ecret", ("Relation OPTIONS (url `x`, password 'plan5ecret')",)),
)  # fmt: skip

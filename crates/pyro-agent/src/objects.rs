//! Object stores: S3 and what speaks like it, Google Cloud Storage, Azure.
//!
//! Credentials are the environment's: variables, web identity, the machine's metadata. They stand in no URL, and
//! nothing of them in what is told. Connections are encrypted, whatever the environment says.

use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, PutOptions, RetryConfig};
use tokio::runtime::{Builder, Runtime};
use url::Url;

use crate::ship::Store;

/// A request that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(20);
const MAX_TOLD_BYTES: usize = 500;

/// A bucket or container, and a prefix in it.
pub struct Objects {
    runtime: Runtime,
    store: Box<dyn ObjectStore>,
    prefix: Path,
}

impl Objects {
    /// Opens `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX`. Nothing
    /// is asked yet.
    ///
    /// # Errors
    /// If the URL is none of these, holds credentials, or the environment's settings are no sound ones.
    pub fn open(text: &str) -> Result<Self, String> {
        // Not what it is: what cannot be parsed may hold a password.
        let url = Url::parse(text).map_err(|error| format!("no URL of a store: {error}"))?;
        let is_azure = matches!(url.scheme(), "abfs" | "abfss");
        let has_user = !url.username().is_empty() && !is_azure;
        if has_user || url.password().is_some() || url.query().is_some() {
            return Err(
                "credentials do not belong into a URL: leave them to the environment".to_owned(),
            );
        }
        // Of two that could be linked in, the one that we have; it is there already when a second store is opened.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let once = RetryConfig {
            max_retries: 0,
            retry_timeout: PATIENCE,
            ..RetryConfig::default()
        };
        let client = ClientOptions::new()
            .with_timeout(PATIENCE)
            .with_connect_timeout(PATIENCE / 4)
            .with_allow_http(false);
        let store: Result<Box<dyn ObjectStore>, _> = match url.scheme() {
            "s3" | "s3a" => AmazonS3Builder::from_env()
                .with_url(text)
                .with_retry(once)
                .with_client_options(client)
                .build()
                .map(|store| Box::new(store) as _),
            "gs" => GoogleCloudStorageBuilder::from_env()
                .with_url(text)
                .with_retry(once)
                .with_client_options(client)
                .build()
                .map(|store| Box::new(store) as _),
            _ if is_azure => MicrosoftAzureBuilder::from_env()
                .with_url(text)
                .with_retry(once)
                .with_client_options(client)
                .build()
                .map(|store| Box::new(store) as _),
            other => return Err(format!("{other}: no store of this kind is known")),
        };
        let runtime = Builder::new_current_thread().enable_all().build();
        Ok(Self {
            runtime: runtime.map_err(|error| error.to_string())?,
            store: store.map_err(|error| told(&error.to_string()))?,
            prefix: Path::parse(url.path()).map_err(|error| format!("{text}: {error}"))?,
        })
    }
}

impl Store for Objects {
    fn put(&mut self, key: &str, object: &[u8]) -> Result<(), String> {
        let path = match self.prefix.as_ref() {
            "" => key.to_owned(),
            prefix => format!("{prefix}/{key}"),
        };
        let path = Path::parse(path).map_err(|error| error.to_string())?;
        let payload = object.to_vec().into();
        let put = self.store.put_opts(&path, payload, PutOptions::default());
        let done = self.runtime.block_on(put);
        done.map(drop).map_err(|error| told(&error.to_string()))
    }
}

/// What may be told of a failure: signed addresses end where their signature begins.
fn told(error: &str) -> String {
    let words = error
        .split_whitespace()
        .map(|word| match word.split_once('?') {
            Some((before, after)) if after.contains('=') => format!("{before}?…"),
            _ => word.to_owned(),
        });
    let mut text = words.collect::<Vec<_>>().join(" ");
    let end = (0..=MAX_TOLD_BYTES.min(text.len()))
        .rev()
        .find(|&at| text.is_char_boundary(at));
    text.truncate(end.unwrap_or(0));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_hold_no_credentials() {
        for text in [
            "s3://key:secret@bucket/prefix",
            "s3://key@bucket/prefix",
            "gs://bucket/prefix?token=1",
            "abfss://container:secret@account.dfs.core.windows.net/x",
        ] {
            let refused = Objects::open(text).err().unwrap();
            assert!(
                refused.contains("credentials") && !refused.contains("secret"),
                "{refused}"
            );
        }
        for broken in ["s3://key:secret@[bucket/x", "s3://key:secret@host:port/x"] {
            let refused = Objects::open(broken).err().unwrap();
            assert!(!refused.contains("secret"), "{refused}");
        }
        for other in ["http://host/bucket", "ftp://x/y", "s3"] {
            assert!(Objects::open(other).is_err(), "{other}");
        }
    }

    #[test]
    fn signatures_are_not_told() {
        let error =
            "PUT https://a.blob.core.windows.net/c/x?sig=SECRET&se=1 failed: what? is = this";
        let expected = "PUT https://a.blob.core.windows.net/c/x?… failed: what? is = this";
        assert_eq!(told(error), expected);
        assert!(told(&"ü".repeat(1000)).len() <= MAX_TOLD_BYTES);
    }
}

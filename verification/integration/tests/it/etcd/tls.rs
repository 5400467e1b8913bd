//! Certificates on both sides.

use std::fs;
use std::path::{Path, PathBuf};

use kafka_assigner_rig::{Etcd, EtcdConfig, EtcdTls as ServerTls, etcd_binary};
use kafka_assigner_store::etcd::{EtcdOptions, EtcdTls};
use kafka_assigner_store::{Error, Store};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use super::{error_within, hasty, insist, put, store, values_to};

/// An authority with the certificates that it signed, as files.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: tempfile::TempDir,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { issuer, folder }
    }

    fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A certificate and its key for somebody who is reached at a loopback address.
    fn sign(&self, name: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let write = |suffix: &str, pem: String| {
            let file = self.folder.path().join(format!("{name}{suffix}"));
            fs::write(&file, pem).unwrap();
            file
        };
        (write(".pem", certificate.pem()), write(".key", key.serialize_pem()))
    }
}

fn options(etcd: &Etcd, ca: &Path, identity: Option<(PathBuf, PathBuf)>) -> EtcdOptions {
    let (certificate, key) = identity.unzip();
    let mut options = hasty([etcd.endpoint()]);
    options.tls = Some(EtcdTls { ca: ca.to_owned(), certificate, key, server_name: None });
    options
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_who_shows_a_certificate_and_trusts_the_servers_gets_in() {
    let Some(binary) = etcd_binary() else { return };
    let authority = Authority::new();
    let (certificate, key) = authority.sign("server");
    let mut config = EtcdConfig::new(binary);
    config.tls = Some(ServerTls { certificate, key, client_authority: authority.ca() });
    let etcd = Etcd::start(&config).unwrap();

    let known = store(&options(&etcd, &authority.ca(), Some(authority.sign("client"))));
    let start = insist(|| put(&known, "/a", "1")).await;
    let mut watch = insist(|| known.watch(b"/a", start)).await;
    assert_eq!(values_to(&mut watch, start).await, ["1"]);

    let impostor = Authority::new();
    for stranger in [
        options(&etcd, &authority.ca(), None),
        options(&etcd, &authority.ca(), Some(impostor.sign("client"))),
        options(&etcd, &impostor.ca(), Some(authority.sign("client"))),
    ] {
        let error = error_within(super::PATIENCE, store(&stranger).get(b"/a")).await;
        assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
    }
}

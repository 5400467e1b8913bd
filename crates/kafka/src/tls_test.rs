//! Files that change, and files that are wrong.

use std::fs;

use rcgen::generate_simple_self_signed;

use super::*;
use crate::options::Identity;

struct TlsFolder(tempfile::TempDir);

impl TlsFolder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.renew();
        folder
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn renew(&self) {
        let signed = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(self.at("ca.pem"), signed.cert.pem()).unwrap();
        fs::write(self.at("client.key"), signed.signing_key.serialize_pem()).unwrap();
    }

    fn tls(&self) -> BrokerTls {
        let identity = Identity { certificate: self.at("ca.pem"), key: self.at("client.key") };
        BrokerTls { ca: Some(self.at("ca.pem")), identity: Some(identity) }
    }
}

#[test]
fn files_that_changed_are_used_and_unusable_ones_are_not() {
    let folder = TlsFolder::new();
    let source = TlsSource::new(folder.tls()).unwrap();
    let first = source.config();
    assert!(Arc::ptr_eq(&first, &source.config()));
    folder.renew();
    let second = source.config();
    assert!(!Arc::ptr_eq(&first, &second));
    // Half of an exchange.
    let old = fs::read(folder.at("client.key")).unwrap();
    fs::write(folder.at("client.key"), "").unwrap();
    assert!(Arc::ptr_eq(&second, &source.config()));
    fs::write(folder.at("client.key"), old).unwrap();
    assert!(Arc::ptr_eq(&second, &source.config()));
}

#[test]
fn a_file_that_is_wrong_is_named() {
    let folder = TlsFolder::new();
    let error = |tls| TlsSource::new(tls).unwrap_err().to_string();
    let missing = BrokerTls { ca: Some(folder.at("none.pem")), identity: None };
    assert!(error(missing).ends_with("none.pem can't be read"));
    let no_certificate = BrokerTls { ca: Some(folder.at("client.key")), identity: None };
    assert!(error(no_certificate).contains("client.key has no PEM certificate"));
    let identity = Identity { certificate: folder.at("ca.pem"), key: folder.at("ca.pem") };
    assert!(
        error(BrokerTls { identity: Some(identity), ..folder.tls() })
            .contains("ca.pem has no PEM private key")
    );
    let other = TlsFolder::new();
    let identity = Identity { certificate: folder.at("ca.pem"), key: other.at("client.key") };
    assert!(error(BrokerTls { identity: Some(identity), ..folder.tls() }).contains("can't be used together"));
}

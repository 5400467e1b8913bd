//! TLS, and who may connect with it.

use kafka_assigner_proto::v1::ListGroupsRequest;
use kafka_assigner_proto::v1::admin_client::AdminClient;
use kafka_assigner_server::serve::{Error, ServeOptions, Tls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use crate::served::Served;

/// An authority that signs certificates.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key, as PEM.
pub(crate) struct Signed {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    pub(crate) fn sign(&self, name: &str) -> Signed {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        Signed { certificate: certificate.pem(), key: key.serialize_pem() }
    }

    /// An instance with a certificate of this authority.
    async fn serve(&self, client_ca: Option<String>) -> Served {
        Served::with(ServeOptions { tls: Some(self.tls(client_ca)), ..ServeOptions::default() }).await
    }

    /// The certificates of such an instance.
    pub(crate) fn tls(&self, client_ca: Option<String>) -> Tls {
        let Signed { certificate, key } = self.sign("localhost");
        let client_ca = client_ca.map(String::into_bytes);
        Tls { certificate: certificate.into_bytes(), key: key.into_bytes(), client_ca }
    }
}

/// True if a call over `scheme` with `tls` comes through.
async fn reaches(served: &Served, scheme: &str, tls: Option<ClientTlsConfig>) -> bool {
    let mut endpoint = Endpoint::from_shared(format!("{scheme}://{}", served.grpc)).expect("an address");
    if let Some(tls) = tls {
        endpoint = endpoint.tls_config(tls).expect("a configuration");
    }
    let Ok(channel) = endpoint.connect().await else { return false };
    AdminClient::new(channel).list_groups(ListGroupsRequest::default()).await.is_ok()
}

pub(crate) fn trusting(authority: &Authority) -> ClientTlsConfig {
    ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority.pem())).domain_name("localhost")
}

#[tokio::test]
async fn with_tls_only_those_are_served_who_speak_it_and_trust_the_instance() {
    let authority = Authority::new();
    let served = authority.serve(None).await;
    assert!(reaches(&served, "https", Some(trusting(&authority))).await);
    assert!(!reaches(&served, "https", Some(trusting(&Authority::new()))).await);
    assert!(!reaches(&served, "http", None).await);
}

#[tokio::test]
async fn with_a_client_authority_only_its_certificates_come_in() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let served = authority.serve(Some(clients.pem())).await;
    let with = |signed: Signed| {
        Some(trusting(&authority).identity(Identity::from_pem(signed.certificate, signed.key)))
    };
    assert!(reaches(&served, "https", with(clients.sign("client"))).await);
    assert!(!reaches(&served, "https", with(authority.sign("client"))).await);
    assert!(!reaches(&served, "https", Some(trusting(&authority))).await);
}

#[tokio::test]
async fn certificates_that_are_none_are_refused_at_the_start() {
    let tls = Tls { certificate: b"none".to_vec(), key: b"none".to_vec(), client_ca: None };
    let served = Served::with(ServeOptions { tls: Some(tls), ..ServeOptions::default() }).await;
    assert!(matches!(served.ended().await, Err(Error::Tls(_))));
}

//! Certificates that are replaced while a transport is in use.

use std::fs;
use std::path::Path;

use kafka_assigner_client::{ClientTlsFiles, GrpcTransport, Transport as _};
use kafka_assigner_proto::v1::HeartbeatRequest;
use kafka_assigner_proto::v1::kafka_assigner_server::KafkaAssignerServer;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};

use crate::fake::Fake;
use crate::grpc::Served;

/// An authority that signs certificates.
struct Signer(CertifiedIssuer<'static, KeyPair>);

impl Signer {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    /// A certificate and its key, as PEM.
    fn sign(&self) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }

    /// An instance that serves those who show a certificate of this authority, until the guard is dropped.
    async fn serve(&self) -> (String, DropGuard) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = format!("https://{}", listener.local_addr().expect("bound"));
        let (certificate, key) = self.sign();
        let tls = ServerTlsConfig::new()
            .identity(Identity::from_pem(certificate, key))
            .client_ca_root(Certificate::from_pem(self.0.pem()));
        let server = Server::builder()
            .tls_config(tls)
            .expect("valid certificates")
            .add_service(KafkaAssignerServer::new(Served(Fake::new())))
            .serve_with_incoming(TcpListenerStream::new(listener));
        let stop = CancellationToken::new();
        tokio::spawn(stop.clone().run_until_cancelled_owned(server));
        (address, stop.drop_guard())
    }
}

fn put(folder: &Path, (certificate, key): &(String, String)) {
    fs::write(folder.join("tls.crt"), certificate).expect("it is written");
    fs::write(folder.join("tls.key"), key).expect("it is written");
}

#[tokio::test]
async fn a_certificate_that_is_replaced_counts_for_the_next_call() {
    let (signer, folder) = (Signer::new(), tempfile::tempdir().expect("a folder"));
    let (address, _server) = signer.serve().await;
    fs::write(folder.path().join("ca.crt"), signer.0.pem()).expect("it is written");
    let files = ClientTlsFiles::trusting(folder.path().join("ca.crt"))
        .showing(folder.path().join("tls.crt"), folder.path().join("tls.key"))
        .expecting("localhost");
    let transport = GrpcTransport::with_tls_files(files);
    let call = || transport.heartbeat(&address, HeartbeatRequest::default());
    let missing = call().await.expect_err("there are no files yet");
    assert!(missing.message().contains("tls.crt"), "{missing}");
    put(folder.path(), &Signer::new().sign());
    assert!(call().await.is_err(), "the certificate of a stranger");
    put(folder.path(), &signer.sign());
    call().await.expect("the new certificate is shown");
    // As it is between the two writes of whoever replaces them.
    fs::write(folder.path().join("tls.key"), signer.sign().1).expect("it is written");
    call().await.expect("the connection that there is goes on");
    fs::remove_file(folder.path().join("tls.crt")).expect("it is there");
    call().await.expect("the connection that there is goes on");
}

//! An instance that answers from a script.

use std::thread::JoinHandle;

use kafka_assigner_proto::v1::admin_server::AdminServer;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;

use crate::scripts::Script;

/// A running instance; it stops when this is dropped.
pub(crate) struct Instance {
    url: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Instance {
    /// Starts one on a free port of the loopback address.
    pub(crate) fn start(script: Script) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port is free");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let (stop, stopped) = oneshot::channel();
        let serve = async move {
            let service = Server::builder().add_service(AdminServer::new(script));
            let until = async { drop(stopped.await) };
            service
                .serve_with_incoming_shutdown(TcpListenerStream::new(listener), until)
                .await
                .expect("it is served");
        };
        let thread = std::thread::spawn(move || runtime.block_on(serve));
        Self { url, stop: Some(stop), thread: Some(thread) }
    }

    /// The URL at which it is reached.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

//! A network that can be cut.

use std::net::Ipv4Addr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A way to a server that can be cut and mended; closed when dropped.
#[derive(Debug)]
pub(super) struct Proxy {
    port: u16,
    cut: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// A way to `server`, an URL of etcd's.
    pub(super) async fn to(server: &str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = server.trim_start_matches("http://").to_owned();
        let (cut, is_cut) = watch::channel(false);
        Self { port, cut, task: tokio::spawn(serve(listener, server, is_cut)) }
    }

    pub(super) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Breaks every connection, and each new one at once.
    pub(super) fn cut(&self) {
        self.cut.send_replace(true);
    }

    pub(super) fn mend(&self) {
        self.cut.send_replace(false);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, server: String, is_cut: watch::Receiver<bool>) {
    while let Ok((client, _)) = listener.accept().await {
        tokio::spawn(relay(client, server.clone(), is_cut.clone()));
    }
}

async fn relay(mut client: TcpStream, server: String, mut is_cut: watch::Receiver<bool>) {
    let Ok(mut server) = TcpStream::connect(server).await else { return };
    tokio::select! {
        biased;
        // The cut goes before what is under way.
        _ = is_cut.wait_for(|cut| *cut) => {}
        // Until one side closes.
        _ = copy_bidirectional(&mut client, &mut server) => {}
    }
}

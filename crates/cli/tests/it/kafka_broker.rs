//! A broker of Kafka that answers from a script.

use std::io;
use std::thread::JoinHandle;

use bytes::Bytes;
use kafka_assigner_kafka::messages::{
    ApiVersionsRequest, ConsumerGroupDescribeRequest, DescribeGroupsRequest,
    DescribeShareGroupOffsetsRequest, FindCoordinatorRequest, GroupListRequest, ListOffsetsRequest,
    MetadataRequest, OffsetFetchRequest, ShareGroupDescribeRequest, StreamsGroupDescribeRequest,
};
use kafka_assigner_kafka::testing::{every_version, reply};
use kafka_assigner_kafka::wire::{ApiRequest as _, CodecError, RequestHeader, WireReader};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::kafka_script as script;

/// A running broker; it stops when this is dropped.
pub(crate) struct ScriptedBroker {
    address: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedBroker {
    /// Starts one on a free port of the loopback address.
    pub(crate) fn start() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let (stop, stopped) = oneshot::channel();
        let serve = async move {
            tokio::select! {
                () = accept(listener, port) => {}
                _ = stopped => {}
            }
        };
        let thread = std::thread::spawn(move || runtime.block_on(serve));
        Self { address: format!("127.0.0.1:{port}"), stop: Some(stop), thread: Some(thread) }
    }

    /// The address at which it is reached.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for ScriptedBroker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

async fn accept(listener: TcpListener, port: u16) {
    while let Ok((client, _)) = listener.accept().await {
        // It ends with the client.
        tokio::spawn(async move { serve(client, port).await.ok() });
    }
}

async fn serve(mut client: TcpStream, port: u16) -> io::Result<()> {
    loop {
        let length = client.read_u32().await?;
        let mut frame = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        client.read_exact(&mut frame).await?;
        client.write_all(&answer(&frame.into(), port).map_err(io::Error::other)?).await?;
    }
}

fn answer(frame: &Bytes, port: u16) -> Result<Vec<u8>, CodecError> {
    let key = RequestHeader::read(&mut WireReader::new(frame))?.key;
    match key {
        ApiVersionsRequest::KEY => reply(frame, |_: ApiVersionsRequest| every_version()),
        MetadataRequest::KEY => reply(frame, |_: MetadataRequest| script::metadata(port)),
        FindCoordinatorRequest::KEY => {
            reply(frame, |request: FindCoordinatorRequest| script::coordinator(&request, port))
        }
        GroupListRequest::KEY => reply(frame, |_: GroupListRequest| script::list()),
        DescribeGroupsRequest::KEY => reply(frame, |_: DescribeGroupsRequest| script::classic()),
        ConsumerGroupDescribeRequest::KEY => reply(frame, |request| script::consumer(&request)),
        ShareGroupDescribeRequest::KEY => reply(frame, |_: ShareGroupDescribeRequest| script::share()),
        StreamsGroupDescribeRequest::KEY => reply(frame, |_: StreamsGroupDescribeRequest| script::streams()),
        OffsetFetchRequest::KEY => reply(frame, |_: OffsetFetchRequest| script::committed()),
        DescribeShareGroupOffsetsRequest::KEY => {
            reply(frame, |_: DescribeShareGroupOffsetsRequest| script::shared_offsets())
        }
        ListOffsetsRequest::KEY => reply(frame, |request| script::ends(&request)),
        key => panic!("the broker does not know the API {key}"),
    }
}

//! A small wire: frames with a number, answered in any order.
//!
//! A frame is a length (4 bytes), a number (8 bytes) and a body. The side that answers sends the
//! number 0 when it leaves: it takes no more requests. Requests that were sent before are still answered.

mod connection;
mod serve;

pub use connection::{CallError, Connection};
pub use serve::{Service, serve};

use std::time::Duration;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use tokio::net::TcpStream;
use tokio_util::codec::{Framed, LengthDelimitedCodec};

/// The largest frame that is read. A request has less than a kilobyte.
const LARGEST_FRAME: usize = 16 << 10;

/// The most unanswered requests of one connection; more are not read, or not sent.
const UNANSWERED: usize = 1_024;

/// The time that the other side may take to leave, or to take an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Says that nothing more should be asked.
const GOODBYE: u64 = 0;

type Frames = Framed<TcpStream, LengthDelimitedCodec>;

fn frames(stream: TcpStream) -> Frames {
    // Only an optimisation: without it small frames are held back for a moment.
    let _ = stream.set_nodelay(true);
    LengthDelimitedCodec::builder().max_frame_length(LARGEST_FRAME).new_framed(stream)
}

fn frame(number: u64, body: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(8 + body.len());
    frame.put_u64(number);
    frame.put_slice(body);
    frame.freeze()
}

/// The number and the body; `None` = it is no frame of this wire.
fn unframe(mut frame: BytesMut) -> Option<(u64, Bytes)> {
    (frame.len() >= 8).then(|| (frame.get_u64(), frame.freeze()))
}

#[cfg(test)]
#[path = "wire_test.rs"]
mod wire_test;

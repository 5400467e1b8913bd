//! One who asks.

use std::net::SocketAddr;

use prost::Message as _;
use tokio::sync::watch;

use crate::message::{Answer, Code, Request};
use crate::wire::{CallError, Connection};

/// The number of times that each router is tried before a request counts as unsent.
const TURNS: usize = 2;

/// Asks over any of the routers that there are, one request at a time.
///
/// That there is one at a time is what lets writers remember no more than one of each caller.
#[derive(Debug)]
pub struct Caller {
    name: String,
    last: u64,
    routers: watch::Receiver<Vec<SocketAddr>>,
    connection: Option<Connection>,
    turn: usize,
}

/// The reason why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Nothing was executed.
    #[error("not executed: {0}")]
    NotExecuted(String),
    /// It may have been executed. [Sent](Caller::send) again as it is, it counts once.
    #[error("not known to be executed: {0}")]
    Unknown(String),
    /// It was never executed, and never will be.
    #[error("refused: {0}")]
    Refused(String),
}

impl Caller {
    /// A caller with a name that no other one has, or ever had. It begins with the router that `turn` chooses.
    #[must_use]
    pub const fn new(name: String, routers: watch::Receiver<Vec<SocketAddr>>, turn: usize) -> Self {
        Self { name, last: 0, routers, connection: None, turn }
    }

    /// A request with the next number: to add to a counter, or to read it.
    pub fn request(&mut self, key: impl Into<String>, add: Option<u64>) -> Request {
        self.numbered(self.last + 1, key, add)
    }

    /// A request with a number of the user's choice, above all before.
    pub fn numbered(&mut self, number: u64, key: impl Into<String>, add: Option<u64>) -> Request {
        self.last = number;
        Request { caller: self.name.clone(), number, key: key.into(), add }
    }

    /// Sends a request, and returns the counter. A router that leaves, or is gone before the request was sent, is passed
    /// over.
    ///
    /// Cancel safe; the request may be executed nevertheless.
    ///
    /// # Errors
    ///
    /// [`Failure`], by variant.
    pub async fn send(&mut self, request: &Request) -> Result<u64, Failure> {
        let tries = TURNS * self.routers.borrow().len().max(1);
        let mut why = "there is no router".to_owned();
        for _ in 0..tries {
            match self.try_one(request).await {
                Ok(Answer { code, why: left, .. }) if code == i32::from(Code::Leaving) => why = left,
                Ok(answer) => return judge(answer),
                Err(TryError::Unsent(error)) => why = error,
                Err(TryError::Broken) => return Err(Failure::Unknown(CallError::Broken.to_string())),
            }
            self.connection = None;
        }
        Err(Failure::NotExecuted(why))
    }

    async fn try_one(&mut self, request: &Request) -> Result<Answer, TryError> {
        let connection = self.connection().await?;
        match connection.call(request.encode_to_vec().into()).await {
            Ok(answer) => Ok(Answer::read(answer)),
            Err(error @ CallError::Unsent) => Err(TryError::Unsent(error.to_string())),
            Err(CallError::Broken) => {
                self.connection = None;
                Err(TryError::Broken)
            }
        }
    }

    async fn connection(&mut self) -> Result<Connection, TryError> {
        if let Some(open) = self.connection.as_ref().filter(|connection| connection.is_open()) {
            return Ok(open.clone());
        }
        let next = {
            let routers = self.routers.borrow();
            let place = self.turn.checked_rem(routers.len());
            place.map(|place| routers[place])
        };
        self.turn = self.turn.wrapping_add(1);
        let next = next.ok_or_else(|| TryError::Unsent("there is no router".to_owned()))?;
        let opened = Connection::open(&next.to_string()).await;
        let opened = opened.map_err(|error| TryError::Unsent(error.to_string()))?;
        self.connection = Some(opened.clone());
        Ok(opened)
    }
}

enum TryError {
    Unsent(String),
    Broken,
}

fn judge(answer: Answer) -> Result<u64, Failure> {
    match answer.code() {
        Code::Done => Ok(answer.total),
        Code::NotExecuted | Code::Leaving => Err(Failure::NotExecuted(answer.why)),
        Code::Unknown => Err(Failure::Unknown(answer.why)),
        Code::Outdated | Code::Invalid => Err(Failure::Refused(answer.why)),
    }
}

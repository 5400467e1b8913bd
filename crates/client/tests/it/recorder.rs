//! A handler that writes down what it is called for, and does as it is told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use kafka_assigner_client::{
    FailingPartition, HandlerError, Offset, OwnedContext, PartitionHandler, ReservedContext,
    StoppedPartition, TopicPartition, WarmContext,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

/// What a recorded handler does beside writing down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Manner {
    #[default]
    Plain,
    WarmFails,
    WarmHangs,
    /// A preparation that never ends and reports progress ten times a second.
    WarmCounts,
    /// The first record takes that long.
    StartTakes(Duration),
    /// The record in the works takes that long.
    DrainTakes(Duration),
    DrainHangs,
    DrainFails,
    /// Handles long records until none may be begun, and its drain waits for that.
    Loops,
    /// The record in the works ends when it is cut off.
    DrainTillCut,
    LostHangs,
    WarmPanics,
    /// A record is in the works from the first assignment on.
    Stuck,
}

/// The handler; clones share the record.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorder {
    manner: Manner,
    lines: Arc<watch::Sender<Vec<String>>>,
    /// The last grant, and when it came.
    owned: Arc<Mutex<Option<(OwnedContext, Instant)>>>,
    handling: Arc<Mutex<Option<JoinHandle<()>>>>,
    stopped: Arc<Mutex<Vec<StoppedPartition>>>,
    failing: Arc<Mutex<Vec<FailingPartition>>>,
}

impl Recorder {
    pub(crate) fn with(manner: Manner) -> Self {
        Self { manner, ..Self::default() }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.borrow().clone()
    }

    /// The context of the last assignment.
    pub(crate) fn owned(&self) -> OwnedContext {
        let owned = self.owned.lock().expect("no panic inside");
        owned.as_ref().expect("a partition was assigned").0.clone()
    }

    /// These partitions stand from now on.
    pub(crate) fn stands(&self, stopped: Vec<StoppedPartition>) {
        *self.stopped.lock().expect("no panic inside") = stopped;
    }

    /// The next records of these partitions have failed for long.
    pub(crate) fn fails(&self, failing: Vec<FailingPartition>) {
        *self.failing.lock().expect("no panic inside") = failing;
    }

    /// Waits until the lines end with these.
    pub(crate) async fn wait_for(&self, last: &[&str]) {
        let mut lines = self.lines.subscribe();
        lines.wait_for(|lines| lines.ends_with(&owned(last))).await.expect("the sender lives");
    }

    fn write(&self, line: String) {
        self.lines.send_modify(|lines| lines.push(line));
    }
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

/// Handles one record after the other, each of which takes long.
async fn handle_all(context: OwnedContext) {
    while let Ok(_in_works) = context.begin_record().await {
        sleep(Duration::from_secs(2)).await;
    }
}

async fn count(context: &WarmContext) -> Result<(), HandlerError> {
    for done in 1.. {
        context.report(done, None);
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

#[async_trait]
impl PartitionHandler for Recorder {
    async fn warm(&self, context: &WarmContext) -> Result<(), HandlerError> {
        self.write(format!("warm {}", context.partition()));
        match self.manner {
            Manner::WarmFails => Err("no room".into()),
            Manner::WarmPanics => panic!("on purpose"),
            Manner::WarmHangs => {
                context.cancelled().await;
                Err("cancelled".into())
            }
            Manner::WarmCounts => count(context).await,
            Manner::Plain
            | Manner::StartTakes(_)
            | Manner::DrainTakes(_)
            | Manner::DrainHangs
            | Manner::DrainFails
            | Manner::Loops
            | Manner::DrainTillCut
            | Manner::LostHangs
            | Manner::Stuck => Ok(()),
        }
    }

    async fn reserved(&self, context: &ReservedContext) -> Result<(), HandlerError> {
        assert!(context.claim().is_valid());
        self.write(format!("reserved {} epoch {}", context.partition(), context.epoch()));
        Ok(())
    }

    async fn assigned(&self, context: &OwnedContext) -> Result<(), HandlerError> {
        assert!(context.claim().is_valid());
        *self.owned.lock().expect("no panic inside") = Some((context.clone(), Instant::now()));
        if let Manner::StartTakes(time) = self.manner {
            sleep(time).await;
        }
        if self.manner == Manner::Loops {
            let handling = tokio::spawn(handle_all(context.clone()));
            *self.handling.lock().expect("no panic inside") = Some(handling);
        }
        self.write(format!("assigned {} epoch {}", context.partition(), context.epoch()));
        Ok(())
    }

    async fn drain(&self, context: &OwnedContext) -> Result<Option<Offset>, HandlerError> {
        self.write(format!("drain {}", context.partition()));
        if self.manner == Manner::DrainTillCut {
            context.cancelled().await;
            return Err("cut off".into());
        }
        if self.manner == Manner::DrainHangs {
            std::future::pending::<()>().await;
        }
        if self.manner == Manner::DrainFails {
            return Err("can't commit".into());
        }
        let handling = self.handling.lock().expect("no panic inside").take();
        if let Some(handling) = handling {
            handling.await?;
        }
        if let Manner::DrainTakes(time) = self.manner {
            sleep(time).await;
        }
        Ok(Offset::new(42).ok())
    }

    async fn release(&self, partition: &TopicPartition) -> Result<(), HandlerError> {
        self.write(format!("release {partition}"));
        Ok(())
    }

    async fn lost(&self, context: &OwnedContext) {
        assert!(!context.claim().is_valid());
        self.write(format!("lost {}", context.partition()));
        if self.manner == Manner::LostHangs {
            std::future::pending::<()>().await;
        }
    }

    fn stopped(&self) -> Vec<StoppedPartition> {
        self.stopped.lock().expect("no panic inside").clone()
    }

    fn failing(&self) -> Vec<FailingPartition> {
        self.failing.lock().expect("no panic inside").clone()
    }

    fn is_stuck(&self, bound: Duration) -> bool {
        let owned = self.owned.lock().expect("no panic inside");
        self.manner == Manner::Stuck && owned.as_ref().is_some_and(|(_, since)| since.elapsed() > bound)
    }
}

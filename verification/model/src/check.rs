//! The checks of what must hold.

use kafka_assigner_core::record::{Assignment, Handoff, Phase};
use kafka_assigner_core::state::{Entry, Presence};
use kafka_assigner_core::view::Role;
use kafka_assigner_types::id::{Member, TopicPartition};

use crate::property::Invariant;
use crate::scene::Scene;
use crate::session::{Said, Session};
use crate::world::World;

/// What one change of the store may not do.
impl World {
    pub(crate) fn check(&mut self, before: &Scene) {
        self.check_epochs(before);
        self.check_rests(before);
        self.check_attempts(before);
        self.check_sessions(before);
        self.check_takeovers(before);
        self.check_prepared(before);
        self.excuse_grants_to_the_dead(before);
    }

    /// Nobody knows of one that is granted again what it stopped at whether it went on before it died.
    fn excuse_grants_to_the_dead(&mut self, before: &Scene) {
        for (at, log) in &mut self.logs {
            let Some(granted) = self.now.state.assignment(at) else { continue };
            let is_new =
                before.state.assignment(at).map(Assignment::held_epoch) != Some(granted.held_epoch());
            let is_its = |session: &Session| granted.owner.as_ref().is_some_and(|o| o.is(&session.member));
            let is_dead = self.sessions.iter().any(|session| !session.is_active() && is_its(session));
            log.is_excused |= is_new && is_dead;
        }
    }

    /// A session that is ended by its mark was not heard since it was marked.
    fn check_takeovers(&mut self, before: &Scene) {
        let is_new =
            |member: &Member| self.now.state.is_taken_over(member) && !before.state.is_taken_over(member);
        // Who is ended without regard to its mark was heard by design: the owners that it costs have to be seen.
        let is_ended = self.sessions.iter().any(|session| session.is_heard && is_new(&session.member));
        if is_ended && !self.has_blind_ends {
            self.breaks(Invariant::Heard);
        }
    }

    /// A handoff that prepares for the end of a session stays at Ready while that is here.
    fn check_prepared(&mut self, before: &Scene) {
        let goes_on = self.partitions().any(|at| {
            let Some(old) = before.state.handoff(&at).filter(|handoff| before.state.only_prepares(handoff))
            else {
                return false;
            };
            let next = self.now.state.handoff(&at).filter(|next| next.id == old.id && next.is_ahead());
            next.is_some_and(|next| !matches!(next.phase, Phase::Warming | Phase::Ready | Phase::Cancelled))
        });
        if goes_on {
            self.breaks(Invariant::Ahead);
        }
    }

    /// Requests are held back of no partition whose old owner has a record in the works.
    fn check_rests(&mut self, before: &Scene) {
        let is_early = self.partitions().any(|at| {
            let Some(new) = self.now.state.handoff(&at) else { return false };
            let is_ready = before.state.handoff(&at).is_some_and(|old| old.phase == Phase::Ready);
            is_ready && new.phase == Phase::Freezing && self.is_at_work(new)
        });
        if is_early {
            self.breaks(Invariant::Rested);
        }
    }

    fn is_at_work(&self, handoff: &Handoff) -> bool {
        let works = |session: &Session| {
            session.member == handoff.old
                && self.is_registered(session)
                && handoff.unit.iter().any(|at| session.in_works.contains(at))
        };
        self.sessions.iter().any(works)
    }

    fn check_epochs(&mut self, before: &Scene) {
        let falls = self.partitions().any(|at| {
            let (Some(old), Some(new)) = (before.state.assignment(&at), self.now.state.assignment(&at))
            else {
                return false;
            };
            let is_kept = old.highest_epoch() == new.highest_epoch();
            let is_same = old.owner == new.owner && is_kept;
            // What was reserved for the new owner becomes its own.
            let is_reserved = old.reserved_epoch().is_some() && new.reserved_epoch().is_none() && is_kept;
            !is_same && !is_reserved && new.highest_epoch() <= old.highest_epoch()
        });
        if falls {
            self.breaks(Invariant::Epochs);
        }
    }

    fn check_attempts(&mut self, before: &Scene) {
        for at in self.partitions() {
            let Some(new) = self.now.state.handoff(&at).cloned() else { continue };
            let old = before.state.handoff(&at);
            if old.is_some_and(|old| old.id != new.id) {
                self.breaks(Invariant::OneAttempt);
            }
            // Granted on to another one at Complete, it only waits for the old owner's word.
            let is_step = old.is_none_or(|old| {
                old.new == new.new && (old.phase, old.taken.is_some()) != (new.phase, new.taken.is_some())
            });
            if is_step && !self.has_three_phases && !self.is_said(&new) {
                self.breaks(Invariant::AckIdentity);
            }
            let begins_to_drain =
                new.phase == Phase::Draining && old.is_some_and(|old| old.phase == Phase::Freezing);
            if begins_to_drain && new.unit.iter().any(|of| self.is_disturbed(before, &at, of)) {
                self.breaks(Invariant::Quiet);
            }
        }
    }

    /// True if a router that the freeze of the unit led by `lead` had to wait for has a request for `at` under way.
    fn is_disturbed(&self, before: &Scene, lead: &TopicPartition, at: &TopicPartition) -> bool {
        let Some(request) = self.request.as_ref().filter(|r| r.at == *at && r.sent.is_some()) else {
            return false;
        };
        let router = &self.routers[request.router];
        let is_left_out = |handoff: &Handoff| handoff.without.contains(&router.member.name);
        if before.state.handoff(lead).is_some_and(is_left_out) {
            return false;
        }
        let froze = before.state.handoffs().get(lead).map(Entry::mod_revision);
        let came = before.state.routers().get(&router.member.name).map(Entry::mod_revision);
        router.alive && self.now.state.is_routing(&router.member) && came < froze
    }

    /// True if what the phase of the handoff says was said by the sessions concerned, in this attempt and of all its
    /// partitions.
    fn is_said(&self, handoff: &Handoff) -> bool {
        let says = |member: &Member, is_it: &dyn Fn(Said) -> bool| {
            let session = self.sessions.iter().rfind(|session| session.member == *member);
            let of = |s: &Session, unit: &TopicPartition| {
                s.said.iter().any(|(id, at, said)| (id, at) == (&handoff.id, unit) && is_it(*said))
            };
            session.is_some_and(|session| handoff.unit.iter().all(|at| of(session, at)))
        };
        let new_says = |word| says(&handoff.new, &|said| said == word);
        let is_warm = matches!(handoff.phase, Phase::Warming | Phase::Cancelled) || new_says(Said::Ready);
        let is_taken = handoff.taken.is_none() || new_says(Said::Taken);
        let is_complete = handoff.phase == Phase::Complete;
        let has_read = !is_complete || !handoff.catch_up || new_says(Said::CaughtUp);
        let is_stopped = !handoff.mode.is_strict()
            || !(is_complete || handoff.phase == Phase::CatchingUp)
            || says(&handoff.old, &|said| matches!(said, Said::Drained(_)))
            || handoff.is_fenced
            || !self.sessions.iter().any(|s| s.member == handoff.old && self.is_unstoppable(s));
        let has_rested = handoff.phase != Phase::Freezing
            || says(&handoff.old, &|said| said == Said::Rested)
            || !self.sessions.iter().any(|s| s.member == handoff.old && self.is_unstoppable(s));
        is_warm && is_taken && has_read && is_stopped && has_rested
    }

    /// True if a session may still act for all that anybody knows; whose lease was revoked is nobody's promise.
    fn is_unstoppable(&self, session: &Session) -> bool {
        session.is_active() && session.claim && !self.logs.values().any(|log| log.is_revoked)
    }

    /// A registration names the session that was opened last under the name, or none comes back.
    fn check_sessions(&mut self, before: &Scene) {
        let comes_back = self.sessions.iter().any(|session| {
            let presence = |scene: &Scene| scene.state.presence(&session.member);
            presence(before) == Presence::Gone
                && matches!(presence(&self.now), Presence::Here | Presence::Ending)
        });
        if comes_back {
            self.breaks(Invariant::Finality);
        }
    }
}

/// What no state may show.
impl World {
    /// I1, where the mode of the grant promises it.
    pub(crate) fn check_holders(&mut self) {
        let is_shared = self.partitions().any(|at| {
            self.is_promised_to_one(&at)
                && self.sessions.iter().filter(|session| session.may_act(&at)).count() > 1
        });
        if is_shared {
            self.breaks(Invariant::SingleHolder);
        }
    }

    fn is_promised_to_one(&self, at: &TopicPartition) -> bool {
        let is_revoked = self.logs.get(at).is_none_or(|log| log.is_revoked);
        !is_revoked && self.now.state.assignment(at).is_some_and(|a| a.mode.is_strict())
    }
}

/// What excuses a gap, and work that is done twice.
impl World {
    /// Notes the death of a session: where it was the one to work, the gap that follows is excused.
    pub(crate) fn note_death(&mut self, dead: usize) {
        for at in self.partitions().collect::<Vec<_>>() {
            if self.is_work_lost_with(dead, &at) {
                self.logs.entry(at.clone()).and_modify(|log| log.is_excused = true);
            }
            if self.is_worker(dead, &at) {
                self.excused.insert(at);
            }
        }
    }

    /// True if the session may have work that it did not commit.
    fn is_work_lost_with(&self, dead: usize, at: &TopicPartition) -> bool {
        let session = &self.sessions[dead];
        let named = self.now.state.assignment(at).and_then(|a| a.owner.as_ref());
        let has_it = session.holds.contains_key(at) || named.is_some_and(|owner| owner.is(&session.member));
        has_it && !self.has_stopped(session, at)
    }

    /// True if the store knows where it stopped, and has not granted it to anybody since, who might have gone on.
    fn has_stopped(&self, session: &Session, at: &TopicPartition) -> bool {
        let moves = |handoff: &&Handoff| handoff.old == session.member && handoff.phase.is_in_flight();
        let handoff = self.now.state.handoff_of(at).filter(moves);
        handoff.is_some_and(|handoff| handoff.final_offset(at).is_some())
    }

    fn is_worker(&self, dead: usize, at: &TopicPartition) -> bool {
        let session = &self.sessions[dead];
        let handoff =
            self.now.state.handoff_of(at).filter(|h| h.phase == Phase::Complete && h.taken.is_none());
        let named = self.now.state.assignment(at).and_then(|a| a.owner.as_ref());
        match handoff {
            // The old owner goes on until the new one works.
            Some(handoff) if self.lives(&handoff.old) => handoff.old == session.member,
            _ => named.is_some_and(|owner| owner.is(&session.member)),
        }
    }

    /// True if the session that the assignment names is there.
    pub(crate) fn owner_lives(&self, at: &TopicPartition) -> bool {
        let owner = self.now.state.assignment(at).and_then(|assignment| assignment.owner.as_ref());
        owner.is_some_and(|owner| self.lives(&owner.member()))
    }

    fn lives(&self, member: &Member) -> bool {
        self.sessions.iter().any(|s| s.member == *member && s.is_active() && self.is_registered(s))
    }

    /// Whoever works by the very grant that the assignment records ends the excuse.
    pub(crate) fn settle_excuses(&mut self) {
        let excused = self.excused.iter().filter(|at| !self.is_worked_on_by_its_owner(at)).cloned().collect();
        self.excused = excused;
    }

    fn is_worked_on_by_its_owner(&self, at: &TopicPartition) -> bool {
        let Some(assignment) = self.now.state.assignment(at) else { return false };
        let is_told = |session: &Session| matches!(session.roles.get(at), Some(Role::Owner { epoch, .. }) if *epoch == assignment.held_epoch());
        let is_owner = |session: &Session| assignment.owner.as_ref().is_some_and(|o| o.is(&session.member));
        let is_here = |session: &Session| session.alive && self.is_registered(session);
        self.sessions.iter().any(|s| is_here(s) && s.works.contains(at) && is_owner(s) && is_told(s))
    }

    /// What was said of attempts that nobody remembers makes no difference any more.
    pub(crate) fn forget_words(&mut self) {
        let mut ids = std::collections::BTreeSet::new();
        for scene in std::iter::once(&self.now).chain(&self.views) {
            ids.extend(
                scene.state.handoffs().keys().filter_map(|at| Some(scene.state.handoff(at)?.id.clone())),
            );
        }
        ids.extend(self.stray.iter().map(|stray| stray.id.clone()));
        for session in &mut self.sessions {
            session.said.retain(|(id, ..)| ids.contains(id));
        }
    }
}

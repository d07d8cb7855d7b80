//! The start of each connection to a server. [`TRIALS`] is the table of all steps, and no other
//! file decides one. [`Starts`] adds the facts that a start depends on.

use xrootd::profile::{Authentication, HandleOrder, Profile, ReadvLimits, Start};

/// Credentials that a server refuses one after the other, until the refusal counts.
const REFUSALS_MAX: usize = 3;

/// What connections have tried at a server of which nothing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trial {
    #[default]
    Nothing,
    /// One has sent everything at once, which shows how the server takes it.
    Burst,
    /// One logs in step by step, which shows the credential that the server wants.
    Login,
    /// Both, each on its own connection.
    Both,
}

/// Steps of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialStep {
    SendsBurst,
    /// Without requests of its own, and without waiting for the logins of others.
    LogsIn,
    /// The burst was lost for want of TLS, and for nothing else.
    TlsDemanded,
}

/// Every step of a trial. One that is missing here has been taken by another connection.
pub const TRIALS: &[(Trial, TrialStep, Trial)] = &[
    (Trial::Nothing, TrialStep::SendsBurst, Trial::Burst),
    (Trial::Nothing, TrialStep::LogsIn, Trial::Login),
    (Trial::Burst, TrialStep::LogsIn, Trial::Both),
    (Trial::Burst, TrialStep::TlsDemanded, Trial::Nothing),
    (Trial::Login, TrialStep::SendsBurst, Trial::Both),
    (Trial::Both, TrialStep::TlsDemanded, Trial::Login),
];

impl Trial {
    /// Takes a step, and returns whether it was there to be taken.
    fn step(&mut self, step: TrialStep) -> bool {
        let row = TRIALS.iter().find(|(from, by, _)| from == self && *by == step);
        if let Some(&(_, _, to)) = row {
            *self = to;
        }
        row.is_some()
    }
}

/// A connection before its first message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Newcomer {
    /// It has requests.
    pub asks: bool,
    /// The server may want a credential, so no request leaves before the login is answered.
    pub careful: bool,
    /// It may leave out the credential, as nothing has to be inside TLS.
    pub in_clear: bool,
    /// Its login costs the server much.
    pub costly: bool,
}

/// The way in which a connection starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionStart {
    /// Everything leaves at once.
    Burst,
    /// The same, without the credential that the user has.
    BareBurst,
    /// Each message waits for the answer to the one before.
    StepByStep,
    /// After the logins of others; then [`Starts::after_others`] decides.
    InTurn,
}

impl ConnectionStart {
    pub fn of_client(self) -> Start {
        match self {
            ConnectionStart::Burst | ConnectionStart::BareBurst => Start::Burst,
            ConnectionStart::StepByStep | ConnectionStart::InTurn => Start::Careful,
        }
    }
}

/// Facts about a server, and about the connections to it, on which the next start depends.
#[derive(Debug, Default)]
pub struct Starts {
    /// The server's features, as its connections have learnt them.
    profile: Profile,
    trial: Trial,
    /// TLS that began without waiting for the server's consent has come to nothing.
    loses_hello: bool,
    /// Connections there are, up or not.
    alive: usize,
    has_logged_in: bool,
    /// Logins in a row that the server has refused for their credential.
    refusals: usize,
    /// The credential for whose refusal nothing is sent behind one any more, as a hash.
    refused: Option<u64>,
}

impl Starts {
    pub fn new(profile: Profile) -> Self {
        Starts { profile, ..Starts::default() }
    }

    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    pub fn takes_early_hello(&self) -> bool {
        self.profile.takes_early_hello() && !self.loses_hello
    }

    /// A connection begins, up or not.
    pub fn opened(&mut self) {
        self.alive += 1;
    }

    /// A connection has ended.
    pub fn closed(&mut self) {
        self.alive -= 1;
    }

    /// Decides how a connection starts.
    pub fn start(&mut self, newcomer: Newcomer) -> ConnectionStart {
        let Newcomer { asks, careful, in_clear, costly } = newcomer;
        if costly && !asks {
            // One of them shows what the server wants, beside the one that sends everything.
            return match careful && self.trial.step(TrialStep::LogsIn) {
                true => ConnectionStart::StepByStep,
                false => ConnectionStart::InTurn,
            };
        }
        if careful {
            // Most servers are public. If one is not, another connection logs in meanwhile.
            let may = asks && in_clear && self.alive > 1 && self.profile.start() == Start::Burst;
            return match may && self.trial.step(TrialStep::SendsBurst) {
                true => ConnectionStart::BareBurst,
                false => ConnectionStart::StepByStep,
            };
        }
        self.after_others(newcomer)
    }

    /// Decides how a connection starts that has waited for its turn, or has nothing to wait for.
    ///
    /// Of the connections to an unknown server, the first with requests sends everything at once;
    /// those beside it log in step by step. So nothing is lost if the server wants a credential.
    pub fn after_others(&mut self, newcomer: Newcomer) -> ConnectionStart {
        let known =
            self.profile.burst.is_some() || self.profile.authentication != Authentication::Unknown;
        let is_burst = !newcomer.careful
            && (known || (newcomer.asks && self.trial.step(TrialStep::SendsBurst)))
            && self.profile.start() == Start::Burst;
        if is_burst { ConnectionStart::Burst } else { ConnectionStart::StepByStep }
    }

    /// The early hello of a connection has not led to TLS.
    pub fn hello_lost(&mut self) {
        self.loses_hello = true;
    }

    /// A session is up.
    pub fn logged_in(&mut self) {
        self.has_logged_in = true;
        self.refusals = 0;
    }

    /// The server has refused the credentials of a login.
    pub fn login_refused(&mut self) {
        self.refusals += 1;
    }

    /// Whether the next refusal of a credential may be a slip: beside other connections, or after
    /// logins that were accepted.
    pub fn may_be_a_slip(&self) -> bool {
        (self.alive > 1 || self.has_logged_in) && self.refusals + 1 < REFUSALS_MAX
    }

    /// Requests behind a credential were lost with it.
    pub fn requests_lost(&mut self, credential: u64) {
        self.refused = Some(credential);
    }

    /// A credential is shown next. Returns whether requests may follow it although they could not
    /// follow another one, which was refused.
    pub fn shows(&mut self, credential: u64) -> bool {
        let is_another = self.refused.is_some_and(|refused| refused != credential);
        if is_another {
            self.refused = None;
            self.profile.burst = Some(true);
        }
        is_another
    }

    /// Adds the features that a session has learnt; those that it does not know stay. Returns the
    /// profile before.
    pub fn learn(&mut self, learnt: &Profile) -> Profile {
        let profile = &mut self.profile;
        let before = profile.clone();
        if learnt.authentication != Authentication::Unknown {
            profile.authentication = learnt.authentication.clone();
        }
        if learnt.handles != HandleOrder::Unknown {
            profile.handles = learnt.handles;
        }
        if learnt.readv != ReadvLimits::default() {
            profile.readv = learnt.readv;
        }
        profile.burst = learnt.burst.or(profile.burst);
        profile.cuts = match learnt.burst {
            Some(true) => learnt.cuts,
            // A session that began before the cut knows nothing of it.
            _ => learnt.cuts.max(profile.cuts),
        };
        if learnt.insists_on_tls && !profile.insists_on_tls {
            profile.insists_on_tls = true;
            self.trial.step(TrialStep::TlsDemanded);
        }
        profile.version = learnt.version.or(profile.version);
        profile.flags = learnt.flags.or(profile.flags);
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [Trial; 4] = [Trial::Nothing, Trial::Burst, Trial::Login, Trial::Both];
    const STEPS: [TrialStep; 3] =
        [TrialStep::SendsBurst, TrialStep::LogsIn, TrialStep::TlsDemanded];

    fn is_within(trial: Trial, part: Trial) -> bool {
        trial == part || trial == Trial::Both
    }

    #[test]
    fn each_step_is_taken_by_one_connection_and_leaves_the_other_alone() {
        for state in STATES {
            for step in STEPS {
                let rows: Vec<_> = TRIALS.iter().filter(|r| (r.0, r.1) == (state, step)).collect();
                assert!(rows.len() <= 1, "{state:?} {step:?} is ambiguous");
                let mut trial = state;
                assert_eq!(trial.step(step), rows.len() == 1, "{state:?} {step:?}");
                let has_burst = is_within(state, Trial::Burst);
                let has_login = is_within(state, Trial::Login);
                let (open, burst, login) = match step {
                    TrialStep::SendsBurst => (!has_burst, true, has_login),
                    TrialStep::LogsIn => (!has_login, has_burst, true),
                    TrialStep::TlsDemanded => (has_burst, false, has_login),
                };
                assert_eq!(rows.len() == 1, open, "{state:?} {step:?}");
                assert_eq!(is_within(trial, Trial::Burst), burst, "{state:?} {step:?}");
                assert_eq!(is_within(trial, Trial::Login), login, "{state:?} {step:?}");
            }
        }
    }

    const PLAIN: Newcomer = Newcomer { asks: true, careful: false, in_clear: true, costly: false };
    const CAREFUL: Newcomer = Newcomer { careful: true, ..PLAIN };

    fn unknown(connections: usize) -> Starts {
        Starts { alive: connections, ..Starts::default() }
    }

    fn known(burst: bool) -> Starts {
        let authentication = Authentication::NotNeeded;
        Starts::new(Profile { burst: Some(burst), authentication, ..Profile::default() })
    }

    /// The start of each kind of newcomer, in each state of a trial, and the state that follows.
    #[test]
    fn an_unknown_server_sees_one_burst_and_one_login_and_the_others_are_careful() {
        use Trial as T;
        let quiet = Newcomer { asks: false, ..PLAIN };
        let costly = Newcomer { asks: false, costly: true, ..CAREFUL };
        let in_tls = Newcomer { in_clear: false, ..CAREFUL };
        let rows = [
            (PLAIN, T::Nothing, ConnectionStart::Burst, T::Burst),
            (PLAIN, T::Login, ConnectionStart::Burst, T::Both),
            (PLAIN, T::Burst, ConnectionStart::StepByStep, T::Burst),
            (PLAIN, T::Both, ConnectionStart::StepByStep, T::Both),
            (CAREFUL, T::Nothing, ConnectionStart::BareBurst, T::Burst),
            (CAREFUL, T::Login, ConnectionStart::BareBurst, T::Both),
            (CAREFUL, T::Burst, ConnectionStart::StepByStep, T::Burst),
            (CAREFUL, T::Both, ConnectionStart::StepByStep, T::Both),
            (costly, T::Nothing, ConnectionStart::StepByStep, T::Login),
            (costly, T::Burst, ConnectionStart::StepByStep, T::Both),
            (costly, T::Login, ConnectionStart::InTurn, T::Login),
            (costly, T::Both, ConnectionStart::InTurn, T::Both),
        ];
        for (newcomer, from, start, to) in rows {
            let mut starts = Starts { trial: from, ..unknown(2) };
            assert_eq!(starts.start(newcomer), start, "{newcomer:?} {from:?}");
            assert_eq!(starts.trial, to, "{newcomer:?} {from:?}");
        }
        for newcomer in [quiet, Newcomer { careful: true, ..quiet }, in_tls] {
            for from in STATES {
                let mut starts = Starts { trial: from, ..unknown(2) };
                assert_eq!(
                    starts.start(newcomer),
                    ConnectionStart::StepByStep,
                    "{newcomer:?} {from:?}"
                );
                assert_eq!(starts.trial, from, "{newcomer:?}");
            }
        }
    }

    #[test]
    fn a_connection_alone_keeps_its_credential() {
        let mut starts = unknown(1);
        assert_eq!(starts.start(CAREFUL), ConnectionStart::StepByStep);
        assert_eq!(starts.trial, Trial::Nothing);
    }

    #[test]
    fn a_known_server_gets_the_same_from_all() {
        let costly = Newcomer { asks: false, costly: true, ..PLAIN };
        for (burst, start) in [(true, ConnectionStart::Burst), (false, ConnectionStart::StepByStep)]
        {
            let mut starts = known(burst);
            for newcomer in [PLAIN, PLAIN, Newcomer { asks: false, ..PLAIN }] {
                assert_eq!(starts.start(newcomer), start);
            }
            assert_eq!(starts.start(costly), ConnectionStart::InTurn);
            assert_eq!(starts.after_others(costly), start);
            assert_eq!(starts.trial, Trial::Nothing);
        }
    }

    #[test]
    fn a_burst_that_was_lost_for_want_of_tls_is_sent_again() {
        let mut starts = unknown(2);
        assert_eq!(starts.start(PLAIN), ConnectionStart::Burst);
        let learnt = Profile { insists_on_tls: true, ..Profile::default() };
        assert_eq!(starts.learn(&learnt), Profile::default());
        assert_eq!(starts.start(PLAIN), ConnectionStart::Burst);
        starts.learn(&learnt);
        assert_eq!(starts.start(PLAIN), ConnectionStart::StepByStep, "that is known already");
    }

    #[test]
    fn a_hello_that_was_lost_is_not_sent_early_again() {
        use xrootd::message::protocol::ServerFlags;
        let flags = Some(ServerFlags::IS_SERVER | ServerFlags::HAS_TLS);
        let profile = Profile { version: Some(0x520), flags, ..Profile::default() };
        let mut starts = Starts::new(profile);
        assert!(starts.takes_early_hello());
        starts.hello_lost();
        assert!(!starts.takes_early_hello());
    }

    #[test]
    fn requests_follow_another_credential_than_the_refused_one() {
        let mut starts = known(false);
        starts.requests_lost(5);
        assert!(!starts.shows(5));
        assert_eq!(starts.profile().burst, Some(false));
        assert!(starts.shows(6));
        assert_eq!(starts.profile().burst, Some(true));
        starts.profile.burst = Some(false);
        assert!(!starts.shows(7), "it was for no credential");
    }

    #[test]
    fn refusals_beside_others_are_slips_until_there_are_too_many() {
        let mut starts = Starts::default();
        starts.opened();
        assert!(!starts.may_be_a_slip(), "alone");
        starts.opened();
        for _ in 1..REFUSALS_MAX {
            assert!(starts.may_be_a_slip());
            starts.login_refused();
        }
        assert!(!starts.may_be_a_slip());
        starts.logged_in();
        starts.closed();
        assert!(starts.may_be_a_slip(), "one was accepted");
    }

    #[test]
    fn features_that_a_session_does_not_know_stay() {
        use xrootd::profile::Cuts;
        let mut starts = known(true);
        starts.profile.cuts = Cuts::One;
        let before = starts.profile().clone();
        assert_eq!(starts.learn(&Profile::default()), before);
        assert_eq!(starts.profile(), &before);
        starts.learn(&Profile { burst: Some(true), ..Profile::default() });
        assert_eq!(starts.profile().cuts, Cuts::None);
    }
}

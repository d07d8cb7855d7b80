//! Columns of a table beside formulas of them, as a caller names them.

use std::sync::Arc;

use super::meaning::{HiddenAliases, Meaning, NameScope, meaning, without_blanks};
use super::resolve::{ResolvedColumn, in_formula, without_column};
use crate::read::core::cut::Cut;
use crate::read::core::expressions::Expressions;
use crate::read::core::formula::{Formula, Grammar, Operand, Program};
use crate::read::core::names::ColumnKind;
use crate::read::core::request::ColumnRequest;
use crate::read::core::select::is_glob;
use crate::read::core::spec::{ColumnSpec, FormulaSpec, Wanted};
use crate::read::file::session::Session;
use crate::read::many::opener::Opener;
use remote::{Error, ErrorKind, Result};

/// Columns that formulas read, each once.
#[derive(Default)]
pub(super) struct FormulaReads(Vec<ColumnRequest>);

impl Expressions {
    /// Columns of a table: of [`ColumnSpec::Named`] names, patterns, formulas and aliases.
    pub(crate) async fn of(
        session: &Session,
        scope: NameScope<'_>,
        wanted: &ColumnSpec,
        cut: Option<&Cut>,
    ) -> Result<Expressions> {
        let mut hidden = HiddenAliases::default();
        let scope = match wanted {
            ColumnSpec::Formulas(spec) => NameScope { aliases: &spec.aliases, ..scope },
            _ => scope,
        };
        let (spec, wanted) = match wanted {
            ColumnSpec::Named(texts) => computed(session, scope, texts, &mut hidden).await?,
            ColumnSpec::Formulas(spec) => over_aliases(session, scope, spec).await?,
            ColumnSpec::Requested(all) if names_alias(scope, all) => {
                let wanted = (0..all.len()).map(|at| Wanted::Read(at, None)).collect();
                let spec = FormulaSpec { reads: all.clone(), wanted, aliases: Vec::new() };
                over_aliases(session, scope, &spec).await?
            }
            spec => (spec.clone(), None),
        };
        for column in cut.iter().flat_map(|cut| &cut.columns) {
            hidden.note(session, scope, &column.name).await?;
        }
        let cut = super::aliases::in_cut(session, scope, &[], cut).await?;
        let columns = session.select(scope.table, scope.friends, &spec, cut.as_ref()).await?;
        Expressions::new(columns, cut, wanted.map(Arc::from), hidden.into_list())
    }
}

/// The columns to read for texts, and those that a caller gets where these are others.
async fn computed(
    session: &Session,
    scope: NameScope<'_>,
    texts: &[String],
    hidden: &mut HiddenAliases,
) -> Result<(ColumnSpec, Option<Vec<Wanted>>)> {
    let texts = texts.iter().map(|text| without_blanks(&**scope.table, text).to_owned());
    let texts: Vec<String> = texts.collect();
    let mut meanings = Vec::with_capacity(texts.len());
    for text in &texts {
        hidden.note(session, scope, text).await?;
        meanings.push((text, meaning(session, scope, text).await?));
    }
    let is_plain = |(text, one): &(&String, Meaning)| match one {
        Meaning::Columns(columns) => called(text, columns).is_none(),
        Meaning::Alias(_) | Meaning::Formula(_) => false,
    };
    if meanings.iter().all(is_plain) {
        return Ok((ColumnSpec::Named(texts.clone()), None));
    }
    let mut reads = FormulaReads::default();
    let mut wanted = Vec::<Wanted>::new();
    for (text, meaning) in meanings {
        let formula = match meaning {
            Meaning::Columns(found) => {
                let name = called(text, &found);
                let named = ColumnSpec::Named(vec![text.clone()]);
                let columns = session.select(scope.table, scope.friends, &named, None).await?;
                for request in columns.requests() {
                    let at = reads.add(request);
                    let is_known = |one: &Wanted| matches!(one, Wanted::Read(known, of) if (*known, of) == (at, &name));
                    if !wanted.iter().any(is_known) {
                        wanted.push(Wanted::Read(at, name.clone()));
                    }
                }
                continue;
            }
            Meaning::Formula(formula) => formula,
            Meaning::Alias(formula) => Formula::parse_in(&formula, Grammar::Root)?,
        };
        for name in &formula.columns {
            hidden.note(session, scope, name).await?;
        }
        let program = reads.program(session, scope, formula, std::slice::from_ref(text)).await?;
        wanted.push(Wanted::Computed(text.clone(), Arc::new(program)));
    }
    Ok((ColumnSpec::Requested(reads.0), Some(wanted)))
}

/// Whether a name may be that of an alias, which a column hides.
fn names_alias(scope: NameScope<'_>, all: &[ColumnRequest]) -> bool {
    let aliases = scope.table.aliases();
    let is_alias = |one: &ColumnRequest| aliases.iter().any(|(name, _)| *name == one.name);
    all.iter().any(is_alias)
}

/// As [`computed`], of columns and aliases by name, and of formulas over these.
async fn over_aliases(
    session: &Session,
    scope: NameScope<'_>,
    spec: &FormulaSpec,
) -> Result<(ColumnSpec, Option<Vec<Wanted>>)> {
    let mut reads = FormulaReads::default();
    let mut operands = Vec::with_capacity(spec.reads.len());
    for one in &spec.reads {
        operands.push(reads.operand(session, scope, one).await?);
    }
    let mut wanted = Vec::with_capacity(spec.wanted.len());
    for one in spec.wanted.iter() {
        wanted.push(match one {
            Wanted::Read(at, name) => match &operands[*at] {
                Operand::Column(at) => Wanted::Read(*at, name.clone()),
                Operand::Formula(program) => {
                    let name = name.clone().unwrap_or_else(|| spec.reads[*at].name.clone());
                    Wanted::Computed(name, program.clone())
                }
            },
            Wanted::Computed(text, program) => {
                Wanted::Computed(text.clone(), program.over(&operands)?)
            }
        });
    }
    Ok((ColumnSpec::Requested(reads.0), Some(wanted)))
}

/// The name of a branch that a caller calls otherwise than by its path: the caller's own.
fn called(text: &str, found: &[ResolvedColumn]) -> Option<String> {
    let [ResolvedColumn { friend: None, table, column, .. }] = found else { return None };
    let list = table.list();
    let is_group = || list.all().iter().any(|other| other.parent == Some(*column));
    let is_called_so = list.all()[*column].path == text
        || list.kind() == ColumnKind::Field
        || is_glob(text)
        || is_group();
    (!is_called_so).then(|| text.to_owned())
}

impl FormulaReads {
    /// The columns.
    pub fn into_requests(self) -> Vec<ColumnRequest> {
        self.0
    }

    /// Where the column is among those that are read, to which it is added.
    fn add(&mut self, request: ColumnRequest) -> usize {
        let is_same = |one: &ColumnRequest| {
            ColumnRequest { optional: request.optional, ..one.clone() } == request
        };
        if let Some(known) = self.0.iter().position(is_same) {
            self.0[known].optional &= request.optional;
            return known;
        }
        self.0.push(request);
        self.0.len() - 1
    }

    /// A column by name, or an alias, which a column of its name hides.
    async fn operand(
        &mut self,
        session: &Session,
        scope: NameScope<'_>,
        one: &ColumnRequest,
    ) -> Result<Operand> {
        let is_column =
            !scope.has_alias(&one.name) || in_formula(session, scope, &one.name).await.is_ok();
        let alias = if is_column { None } else { scope.alias(&one.name)? };
        let Some(formula) = alias else { return Ok(Operand::Column(self.add(one.clone()))) };
        let within = std::slice::from_ref(&one.name);
        Ok(Operand::Formula(Arc::new(self.program(session, scope, formula, within).await?)))
    }

    /// A formula with the meanings of its names. `within` are the aliases that it is part of.
    pub async fn program(
        &mut self,
        session: &Session,
        scope: NameScope<'_>,
        formula: Formula,
        within: &[String],
    ) -> Result<Program> {
        let mut operands = Vec::with_capacity(formula.columns.len());
        let mut formula = formula;
        for (number, name) in formula.columns.clone().iter().enumerate() {
            let column = match in_formula(session, scope, name).await {
                Ok(column) => column,
                Err(error) => match scope.alias(name)? {
                    Some(formula) => {
                        if within.contains(name) {
                            let message = format!("the alias {name:?} refers to itself");
                            return Err(Error::new(ErrorKind::InvalidArgument, message));
                        }
                        let within = [within, std::slice::from_ref(name)].concat();
                        let program = self.program(session, scope, formula, &within);
                        operands.push(Operand::Formula(Arc::new(Box::pin(program).await?)));
                        continue;
                    }
                    None if formula.is_of_root() => without_column(scope, name).ok_or(error)?,
                    None => return Err(error),
                },
            };
            let counts = formula.is_of_root() && column.counts_objects();
            if counts {
                formula = formula.counting(number)?;
            }
            let at = self.add(ColumnRequest { counts, ..column.request() });
            operands.push(match &column.members[..] {
                [] => Operand::Column(at),
                members => {
                    let member = Arc::new(Program::member(name, members));
                    Operand::Formula(member.over(&[Operand::Column(at)])?)
                }
            });
        }
        let counts_entries = formula.counts_entries();
        let program = Program::new(Arc::new(formula), operands)?;
        Ok(match counts_entries {
            true => program.of_entries(scope.table.num_entries()),
            false => program,
        })
    }
}

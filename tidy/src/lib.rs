//! The repository's rules, as tests.
//!
//! Each rule is a function from text to findings, so that it can be shown to fail, and one test
//! that applies it to the checkout. A finding says how to fix it. The rules look at files that git
//! tracks or would track; tables of exceptions carry their reasons.

#[cfg(test)]
mod changelog;
#[cfg(test)]
mod circles;
#[cfg(test)]
mod comments;
#[cfg(test)]
mod features;
#[cfg(test)]
mod figures;
#[cfg(test)]
mod floors;
#[cfg(test)]
mod imports;
#[cfg(test)]
mod leaves;
#[cfg(test)]
mod links;
#[cfg(test)]
mod manifest;
#[cfg(test)]
mod modules;
#[cfg(test)]
mod names;
#[cfg(test)]
mod paths;
#[cfg(test)]
mod phrases;
#[cfg(test)]
mod prose;
#[cfg(test)]
mod ratchets;
#[cfg(test)]
mod repository;
#[cfg(test)]
mod sizes;
#[cfg(test)]
mod source;
#[cfg(test)]
mod syntax;

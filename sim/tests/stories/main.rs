//! Faults during a read: one story a file, the production engine in virtual time, the same every
//! time.

mod both_lose_packets;
mod credentials;
mod cut_link;
mod damaged;
mod dead_server_first;
mod disagreeing_size;
mod http_redirector;
mod http_refuses;
mod lies;
mod metalink;
mod odd_answers;
mod one_slows_down;
mod random_faults;
mod redirector;
mod refused_and_hung;
mod replaced_copy;
mod replaced_file;
mod replaced_tables;
mod restarted_server;
mod shares;
mod source_dies;
mod too_large;
mod world;

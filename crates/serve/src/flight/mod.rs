//! Arrow Flight: the requests and answers of `/select`, for clients that speak gRPC.
//!
//! A ticket is the JSON of a request. `GetFlightInfo` gives the types of its columns, and a ticket
//! for each of its files; `DoGet` the entries; `DoAction` counts and histograms.

mod answers;
mod status;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arrow_flight::flight_descriptor::DescriptorType;
use arrow_flight::flight_service_server::{FlightService, FlightServiceServer};
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightEndpoint, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
};
use bytes::Bytes;
use engine::AnswerForm;
use engine::near::{BufferCompression, Operation, SelectFile, SelectRequest};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tonic::codegen::Service;
use tonic::{Request, Response, Status, Streaming, async_trait};

use self::answers::entries;
use self::status::{denied, status_of};
use crate::clients::Client;
use crate::guard::Guard;
use crate::guest::Guest;
use crate::neighbours::names_this_machine;
use crate::peer::Peer;
use crate::select::{Answer, Answering, Selector};
use crate::stream::Stream;

/// Requests of one connection at a time.
const STREAMS_MAX: u32 = 16;
/// A client that has sent nothing for this time is asked whether it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Bytes of a message beside the request in it.
const MESSAGE_BYTES: usize = 4 << 10;
/// Clients of Flight are mostly near, where to compress takes longer than to send.
const FORM: AnswerForm = AnswerForm {
    compression: BufferCompression::None,
    may_be_coded: false,
    may_begin_early: false,
};
/// Operations of a request without columns.
const ACTIONS: [(&str, Operation, &str); 2] = [
    ("count", Operation::Count, "The number of entries that a cut leaves, as JSON"),
    ("histogram", Operation::Histogram, "A histogram of one to three columns, as JSON"),
];

/// The parts of a server that answer connections.
pub struct FlightContent {
    pub selector: Selector,
    pub guard: Guard,
    pub peer: Peer,
}

/// Serves one connection until it ends.
pub async fn serve(
    stream: impl Stream + 'static,
    content: FlightContent,
    client: Arc<Client>,
    here: SocketAddr,
) {
    let request_bytes = content.selector.request_bytes() + MESSAGE_BYTES;
    let header_bytes = u32::try_from(client.limits().request_bytes).unwrap_or(u32::MAX);
    let flights = Flights { content: Arc::new(content), client, under_way: Arc::default() };
    let answering = FlightServiceServer::new(flights).max_decoding_message_size(request_bytes);
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let mut answering = answering.clone();
        async move {
            if !names_this_machine(&request, here) {
                let text = "this server is on the loopback of its machine: ask for localhost";
                return Ok(Status::permission_denied(text).into_http());
            }
            answering.call(request).await
        }
    });
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEP_ALIVE)
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(header_bytes)
        .serve_connection(TokioIo::new(stream), service);
    // A client that goes away in the middle is the client's affair.
    let _ = connection.await;
}

/// The service of one connection.
#[derive(Clone)]
struct Flights {
    content: Arc<FlightContent>,
    client: Arc<Client>,
    /// Its requests.
    under_way: Arc<AtomicUsize>,
}

/// A request of a connection, until its answer has been taken or dropped.
struct UnderWay {
    client: Arc<Client>,
    count: Arc<AtomicUsize>,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if self.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.client.rests();
        }
    }
}

impl Flights {
    fn begin(&self) -> Result<UnderWay, Status> {
        if self.client.all().is_draining() {
            return Err(Status::unavailable("the server ends: try again later"));
        }
        self.under_way.fetch_add(1, Ordering::AcqRel);
        self.client.works();
        Ok(UnderWay { client: self.client.clone(), count: self.under_way.clone() })
    }

    /// The client of a request.
    ///
    /// # Errors
    /// `Unauthenticated` for a client that may read nothing.
    async fn guest<T>(&self, request: &Request<T>) -> Result<Guest, Status> {
        let FlightContent { guard, peer, .. } = &*self.content;
        let headers = request.metadata().clone().into_headers();
        let visitor = Arc::new(guard.visitor(&headers, peer).await);
        let guest = Guest::new(self.client.clone(), visitor, guard.clone());
        match guard.has_public() || guard.knows(&guest.visitor) {
            true => Ok(guest),
            false => Err(denied(&guard.denial_of_unknown(&guest.visitor))),
        }
    }

    /// The first message of the answer to a request, with the types of its columns.
    async fn types(&self, guest: &Guest, request: &SelectRequest) -> Result<Vec<u8>, Status> {
        match self.content.selector.types(guest, request).await {
            Ok(Ok(types)) => Ok(types),
            Ok(Err(denial)) => Err(denied(&denial)),
            Err(error) => Err(status_of(&error)),
        }
    }

    /// The answer to a request.
    async fn answer(&self, guest: &Guest, request: &SelectRequest) -> Result<FlightAnswer, Status> {
        match self.content.selector.answer_to(guest, request, FORM).await {
            Ok(Answering::Stream(answer)) => Ok(FlightAnswer::Entries(answer)),
            Ok(Answering::Text(text)) => Ok(FlightAnswer::Text(text)),
            Ok(Answering::Denied(denial)) => Err(denied(&denial)),
            Err(error) => Err(status_of(&error)),
        }
    }
}

/// The answer to a client that may read all files of its request.
enum FlightAnswer {
    Entries(Box<Answer>),
    Text(Bytes),
}

/// The request that a descriptor has: as JSON, or as the path of a file and of a table in it.
fn described(descriptor: &FlightDescriptor) -> Result<SelectRequest, Status> {
    match (descriptor.r#type(), &descriptor.path[..]) {
        (DescriptorType::Cmd, _) => parsed(&descriptor.cmd),
        (DescriptorType::Path, [file, table @ ..]) if table.len() <= 1 => {
            let mut request = SelectRequest::arrays(vec![SelectFile::Name(file.clone())]);
            request.table = table.first().cloned();
            Ok(request)
        }
        _ => {
            let text = "a descriptor is the JSON of a request, or the path of a file and a table";
            Err(Status::invalid_argument(text))
        }
    }
}

fn parsed(text: &[u8]) -> Result<SelectRequest, Status> {
    SelectRequest::parse(text).map_err(|error| status_of(&error))
}

/// A ticket for each file of a request, in their order.
fn endpoints(request: &SelectRequest) -> Result<Vec<FlightEndpoint>, Status> {
    let of = |file: &SelectFile| {
        let one = SelectRequest { files: vec![file.clone()], ..request.clone() };
        let ticket = one.written().map_err(|error| status_of(&error))?;
        Ok(FlightEndpoint::new().with_ticket(Ticket::new(ticket)))
    };
    request.files.iter().map(of).collect()
}

fn not_here(method: &str) -> Status {
    Status::unimplemented(format!("{method} is not offered: docs/near.md lists the methods"))
}

#[async_trait]
impl FlightService for Flights {
    type HandshakeStream = BoxStream<'static, Result<HandshakeResponse, Status>>;
    type ListFlightsStream = BoxStream<'static, Result<FlightInfo, Status>>;
    type DoGetStream = BoxStream<'static, Result<FlightData, Status>>;
    type DoPutStream = BoxStream<'static, Result<PutResult, Status>>;
    type DoActionStream = BoxStream<'static, Result<arrow_flight::Result, Status>>;
    type ListActionsStream = BoxStream<'static, Result<ActionType, Status>>;
    type DoExchangeStream = BoxStream<'static, Result<FlightData, Status>>;

    async fn get_flight_info(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let _under_way = self.begin()?;
        let guest = self.guest(&request).await?;
        let descriptor = request.into_inner();
        let select = described(&descriptor)?;
        let schema = self.types(&guest, &select).await?;
        let info = FlightInfo { schema: schema.into(), ..FlightInfo::new() }
            .with_endpoints(endpoints(&select)?)
            .with_descriptor(descriptor)
            .with_ordered(true);
        Ok(Response::new(info))
    }

    async fn get_schema(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<SchemaResult>, Status> {
        let _under_way = self.begin()?;
        let guest = self.guest(&request).await?;
        let schema = self.types(&guest, &described(request.get_ref())?).await?;
        Ok(Response::new(SchemaResult { schema: schema.into() }))
    }

    async fn do_get(
        &self,
        request: Request<Ticket>,
    ) -> Result<Response<Self::DoGetStream>, Status> {
        let under_way = self.begin()?;
        let guest = self.guest(&request).await?;
        let select = parsed(&request.get_ref().ticket)?;
        match self.answer(&guest, &select).await? {
            FlightAnswer::Entries(answer) => {
                let stalled = self.client.limits().stalled;
                let entries = entries(*answer, stalled).map(move |data| {
                    let _under_way = &under_way;
                    data
                });
                Ok(Response::new(entries.boxed()))
            }
            FlightAnswer::Text(_) => {
                let text = "counts and histograms are actions (DoAction)";
                Err(Status::invalid_argument(text))
            }
        }
    }

    async fn do_action(
        &self,
        request: Request<Action>,
    ) -> Result<Response<Self::DoActionStream>, Status> {
        let _under_way = self.begin()?;
        let guest = self.guest(&request).await?;
        let Action { r#type, body } = request.get_ref();
        let named = ACTIONS.iter().find(|(name, ..)| name == r#type);
        let Some((_, operation, _)) = named else {
            return Err(Status::invalid_argument("the actions are count and histogram"));
        };
        let select = SelectRequest::parse_as(body, *operation);
        let select = select.map_err(|error| status_of(&error))?;
        match self.answer(&guest, &select).await? {
            FlightAnswer::Text(body) => {
                let result = arrow_flight::Result { body };
                Ok(Response::new(stream::iter([Ok(result)]).boxed()))
            }
            FlightAnswer::Entries(_) => Err(Status::internal("an answer with columns")),
        }
    }

    async fn list_actions(
        &self,
        _: Request<Empty>,
    ) -> Result<Response<Self::ListActionsStream>, Status> {
        let actions = ACTIONS.iter().map(|(name, _, description)| {
            let r#type = (*name).to_owned();
            Ok(ActionType { r#type, description: (*description).to_owned() })
        });
        Ok(Response::new(stream::iter(actions.collect::<Vec<_>>()).boxed()))
    }

    async fn handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        let text = "there is no handshake: send `authorization` with each call";
        Err(Status::unimplemented(text))
    }

    async fn list_flights(
        &self,
        _: Request<Criteria>,
    ) -> Result<Response<Self::ListFlightsStream>, Status> {
        Err(not_here("ListFlights"))
    }

    async fn poll_flight_info(
        &self,
        _: Request<FlightDescriptor>,
    ) -> Result<Response<PollInfo>, Status> {
        Err(not_here("PollFlightInfo"))
    }

    async fn do_put(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoPutStream>, Status> {
        Err(not_here("DoPut"))
    }

    async fn do_exchange(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoExchangeStream>, Status> {
        Err(not_here("DoExchange"))
    }
}

/** Every bound of this package, in one table. */
export const LIMITS = {
  /** Bytes of a request body. */
  bodyBytes: 4 * 1024 * 1024,
  /** Values in a JSON body. */
  bodyValues: 10_000,
  /** Nesting of a JSON body. */
  bodyDepth: 64,
  /** Unknown names that an answer lists. They are in a header, and clients accept 16 KiB of headers. */
  notedNames: 20,
  /** Refusals that an address gets at once, and per second after that. */
  refusalBurst: 200,
  refusalsPerSecond: 10,
  /** Refusals of one address that may wait. Further ones are answered 429 at once. */
  refusalsWaiting: 16,
  /** Addresses whose refusals are remembered. */
  refusalAddresses: 10_000,
  /** Codes for the sign-in of pages, and how long a code works. */
  pageCodes: 100,
  pageCodeMs: 60 * 60 * 1000,
  /** Tokens of sessions that a node with a database keeps in memory. Beyond this, it forgets those with which nothing is open. */
  rememberedTokens: 10_000,
  /** People whose request handlers are kept in memory. */
  rememberedPeople: 1000,
  /** Pages that may be signed in at once, and how long a page stays signed in without a request. */
  pageTokens: 1000,
  pageIdleMs: 12 * 60 * 60 * 1000,
  /** Characters of an answer that is worth compressing. */
  compressedFrom: 1024,
  /** Sessions in one stream of several. */
  streamedSessions: 32,
  /** How often a stream looks for changes of the list by other processes, and how many rows it compares. */
  listLookMs: 2000,
  watchedRows: 100,
  /** Bytes of a file, and entries of a directory, that are shown. */
  fileBytes: 1024 * 1024,
  directoryEntries: 2000,
  /** Characters of an `Idempotency-Key`. */
  keyChars: 255,
  /** Sessions whose `Idempotency-Key` is kept in memory. */
  rememberedCreations: 1000,
  /** Sessions that a search finds if the query names no limit. */
  searchHits: 20,
  /** How many of the newest sessions a search reads. */
  searchedSessions: 1000,
  /** Time between two comments on a quiet stream. */
  keepAliveMs: 15_000,
  /** A stream is dropped if its peer has taken nothing for this long, so that a dead peer is gone within 30 s. */
  stallMs: 25_000,
  /** Bytes that a stream writes to a slow peer before it waits. A peer that takes this much has made progress. */
  streamChunkBytes: 32 * 1024,
  /** How long a closing session's streams may take to deliver its last records. */
  farewellMs: 2000,
  /** How long the peer of a WebSocket may take to confirm a close, so that it is gone within a second after its token was revoked. */
  socketFarewellMs: 500,
  /** Stored rows in `GET /sessions` if the query names no limit. */
  listedSessions: 20,
  /** Bytes of an ACP message: posted, and over a WebSocket. */
  acpMessageBytes: 16 * 1024 * 1024,
  acpSocketBytes: 32 * 1024 * 1024,
  /** ACP connections at once: of all callers, and of one. */
  acpConnections: 1000,
  acpConnectionsOfCaller: 64,
  /** How long an ACP connection stays open without a stream. */
  acpGraceMs: 60_000,
  /** Frames without a session that a connection keeps for a client that opens its stream again. */
  acpKeptFrames: 256,
  /** Characters that may wait for a stream before its reader pauses, and before the connection is closed. */
  acpHighBytes: 1024 * 1024,
  acpQueuedBytes: 64 * 1024 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 5000,
  /** Connections at once. At the limit, the one that has waited longest without a whole request is closed. */
  connections: 1000,
  /** Of these, long answers (streams, awaited runs). The rest stays free for quick requests such as a cancel. */
  streams: 750,
  /** Streams of one connection over HTTP/2. */
  streamsOfConnection: 250,
  /** Bytes that a socket buffers before its writer has to wait. */
  socketBytes: 64 * 1024,
  /** `Retry-After` for a client that reached one of its limits. */
  limitRetrySeconds: 10,
  /** `Retry-After` for a client that cannot be served right now. */
  retryAfterSeconds: 1,
  /** How long a stop waits until every received request has at least the beginning of its answer. */
  answersMs: 250,
  /** How long a stop waits for connections before it cuts them. */
  stopMs: 5000,
  /** Time between binding the port and loading the app, in which probes are answered fast. */
  probesFirstMs: 15,
} as const;

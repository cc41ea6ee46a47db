/** Every bound of this package, in one table. */
export const LIMITS = {
  /** Bytes of a request body. */
  bodyBytes: 4 * 1024 * 1024,
  /** Values in a JSON body. */
  bodyValues: 10_000,
  /** Nesting of a JSON body. */
  bodyDepth: 64,
  /** Unknown names that an answer lists: they stand in a header, and clients take 16 KiB of those. */
  notedNames: 20,
  /** Refusals an address gets at once, and then per second. */
  refusalBurst: 200,
  refusalsPerSecond: 10,
  /** Refusals of one address that may wait for their turn; more are answered 429. */
  refusalsWaiting: 16,
  /** Addresses whose refusals are remembered. */
  refusalAddresses: 10_000,
  /** Codes by which a page may sign in, and how long one works. */
  pageCodes: 100,
  pageCodeMs: 60 * 60 * 1000,
  /** Tokens of sessions that are kept in memory though the database has them and nothing is open with them. */
  rememberedTokens: 10_000,
  /** People whose routes are kept ready. */
  rememberedPeople: 1000,
  /** Pages that are signed in, and how long one stays so without a request. */
  pageTokens: 1000,
  pageIdleMs: 12 * 60 * 60 * 1000,
  /** Characters of an answer that is worth compressing. */
  compressedFrom: 1024,
  /** Sessions in one stream of several. */
  streamedSessions: 32,
  /** Between two looks at what other processes did to the list that a stream shows, and the rows that a look compares. */
  listLookMs: 2000,
  watchedRows: 100,
  /** What is shown of a file, and of a directory. */
  fileBytes: 1024 * 1024,
  directoryEntries: 2000,
  /** Characters of an `Idempotency-Key`. */
  keyChars: 255,
  /** Sessions that are found again by the key they were made with. */
  rememberedCreations: 1000,
  /** Sessions that a search finds when the query names no limit. */
  searchHits: 20,
  /** Sessions that a search reads, the newest. */
  searchedSessions: 1000,
  /** Between two comments on a quiet stream. */
  keepAliveMs: 15_000,
  /** A stream whose peer has taken nothing for this long is dropped: noticed, and gone, within 30 s. */
  stallMs: 25_000,
  /** What a stream hands to a peer that is behind before it waits; also the unit in which its progress is measured. */
  streamChunkBytes: 32 * 1024,
  /** How long a closing session's streams may take to deliver its last records. */
  farewellMs: 2000,
  /** How long a WebSocket that is being closed may take to say so too: a revoked token has it gone within a second. */
  socketFarewellMs: 500,
  /** Rows of `GET /sessions` that are not live, when the query names no limit. */
  listedSessions: 20,
  /** Bytes of an ACP message: posted, and over a WebSocket. */
  acpMessageBytes: 16 * 1024 * 1024,
  acpSocketBytes: 32 * 1024 * 1024,
  /** ACP connections at once, and of one caller. */
  acpConnections: 1000,
  acpConnectionsOfCaller: 64,
  /** How long an ACP connection lives without any stream. */
  acpGraceMs: 60_000,
  /** Frames without a session that a connection keeps for a stream that comes back. */
  acpKeptFrames: 256,
  /** Characters that wait for a stream before its reader waits too, and before the connection is given up. */
  acpHighBytes: 1024 * 1024,
  acpQueuedBytes: 64 * 1024 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 5000,
  /** Connections at once. At the limit, the one that has waited longest without a whole request is closed. */
  connections: 1000,
  /** Of these, answers that last (streams, awaited runs). The rest is for quick requests: a cancel always finds room. */
  streams: 750,
  /** Streams of one connection over HTTP/2. */
  streamsOfConnection: 250,
  /** What a socket buffers before its writer is asked to wait. */
  socketBytes: 64 * 1024,
  /** How long a client that reached a limit of its own is asked to wait. */
  limitRetrySeconds: 10,
  /** How long a client is asked to wait when it cannot be answered for the moment. */
  retryAfterSeconds: 1,
  /** How long a stop waits for requests that are on their way, and for the beginning of their answers. */
  answersMs: 250,
  /** How long a stop waits for connections before it cuts them. */
  stopMs: 5000,
  /** A port that was just bound is left to probes for this long before the app is loaded. */
  probesFirstMs: 15,
} as const;

/** Every numeric limit of the wire, named once. Lengths count UTF-16 code units, sizes count bytes. */
export const LIMITS = {
  /** Body of POST /v1/decisions, in bytes, and its objects and arrays inside one another. */
  decisionBodyBytes: 64 * 1024,
  decisionBodyDepth: 16,
  /** Every other body, in bytes; policies may nest deeper. */
  bodyBytes: 256 * 1024,
  bodyDepth: 16,
  policyBodyDepth: 32,

  agentIdLength: 256,
  actionLength: 128,
  resourceLength: 512,
  holderLength: 64,
  contextKeyLength: 128,

  nameLength: 128,
  descriptionLength: 1024,
  reasonLength: 512,
  policyIdLength: 128,
  priority: 1_000_000,
  groupDepth: 8,
  inItems: 1000,
  cidrItems: 100,
  likeLength: 512,
  /** Of an IP address: eight groups with a dotted tail. */
  addressLength: 45,

  /** What an evaluation takes at most, unless set, and how many characters or items an operator reads in one of them. */
  evaluationSteps: 200_000,
  charactersPerStep: 16,

  /** Actions that are asked about in one call. */
  capabilityActions: 1000,

  /** Of a budget's limit and of any amount, in its unit. */
  amount: 1e12,
  amountDecimals: 6,

  /** Of the URL of a webhook, and how many there may be. */
  webhookUrlLength: 2048,
  webhooks: 50,
  /** Replays of one webhook in progress. */
  replays: 20,

  /** Faulty places of a body that are named: a hundred thousand would take seconds, in which nobody else is answered. */
  namedFaults: 1000,

  /** Of an answer of statistics: its buckets, the values with rows of their own, and the rows of these. */
  statsBuckets: 1500,
  statsValues: 50,
  statsRows: 10_000,

  idempotencyKeyLength: 255,
  rotateGraceSeconds: 604_800,
  rotateGraceSecondsDefault: 86_400,
  /** How long a session of the dashboard lasts, how many a key may have, and how long a one-time link is valid. */
  sessionSeconds: 43_200,
  sessions: 10,
  signInCodeSeconds: 600,
  pageSize: 200,
  pageSizeDefault: 50,
  /** Of the items of a page, as the store keeps them; one that is larger is a page of its own. */
  pageBytes: 1024 * 1024,
} as const

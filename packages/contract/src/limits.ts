/** Every numeric limit of the wire, each defined once. Lengths count UTF-16 code units, sizes count bytes. */
export const LIMITS = {
  /** The body of POST /v1/decisions, in bytes, and how deeply its objects and arrays may nest. */
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
  /** The length of an IP address: eight groups with a dotted tail. */
  addressLength: 45,

  /** The default limit of an evaluation, and how many characters or items an operator reads in one step. */
  evaluationSteps: 200_000,
  charactersPerStep: 16,

  /** The most actions in one call about capabilities. */
  capabilityActions: 1000,

  /** The maximum of a budget's limit and of any amount, in its unit. */
  amount: 1e12,
  amountDecimals: 6,

  /** The most budgets and shadow policies that a decision event shows, which keeps the event below 64 KiB. */
  eventBudgets: 64,
  eventShadow: 64,
  /**
   * For events of policies, agents and keys: the bytes of JSON of their largest list or object, and of each other list.
   */
  eventLargestBytes: 36 * 1024,
  eventListBytes: 8 * 1024,

  /** The length of a webhook's URL, and the number of webhooks. */
  webhookUrlLength: 2048,
  webhooks: 50,
  /** The most replays of one webhook in progress. */
  replays: 20,

  /**
   * The most faulty places that are named: a hundred thousand would take seconds, during which no other request is
   * answered.
   */
  namedFaults: 1000,

  /** Limits of a statistics answer: its buckets, the values with their own rows, and the rows of these. */
  statsBuckets: 1500,
  statsValues: 50,
  statsRows: 10_000,

  idempotencyKeyLength: 255,
  rotateGraceSeconds: 604_800,
  rotateGraceSecondsDefault: 86_400,
  /** How long a dashboard session lasts, how many sessions a key may have, and how long a one-time link is valid. */
  sessionSeconds: 43_200,
  sessions: 10,
  signInCodeSeconds: 600,
  pageSize: 200,
  pageSizeDefault: 50,
  /** The items of a page, as the store keeps them; a larger item gets its own page. */
  pageBytes: 1024 * 1024,
} as const

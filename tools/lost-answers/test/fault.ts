/** What may go wrong between an action and the other side. */
export type Fault =
  /** Nobody listens. */
  | 'refused'
  /** The name of the host is not found. */
  | 'not_found'
  /** The other side shows a certificate that nobody signed. */
  | 'untrusted'
  /** The connection is reset before anything is read from it. */
  | 'reset_unread'
  /** The request is heard whole, and the connection is reset. */
  | 'reset'
  /** The same, and from then on nobody listens: who tries again is refused. */
  | 'reset_then_refused'
  /** The same, and a client that tries again is told no. */
  | 'reset_then_refusal'
  /** The request is heard whole, and the connection is closed. */
  | 'closed'
  /** The request is heard whole, and its answer breaks off. */
  | 'cut'
  /** The request is heard whole, and never answered. */
  | 'hang'
  /** The request is heard whole, and the other side says no: 400, or what its protocol has for it. */
  | 'refusal'
  /** The other side wants to be paid: 402, or what its protocol has for it. Over x402 it says so of a payment too. */
  | 'unpaid'
  /** The other side says that it may be doing this already: 409. */
  | 'conflict'
  /** The request is heard whole, and the other side fails: 500, or what its protocol has for it. */
  | 'failure'
  /** The request is heard whole, and the other side fails as a service behind it does not listen: 502, in the words of that. */
  | 'failure_behind'

export const FAULTS: readonly Fault[] = [
  'refused',
  'not_found',
  'untrusted',
  'reset_unread',
  'reset',
  'reset_then_refused',
  'reset_then_refusal',
  'closed',
  'cut',
  'refusal',
  'unpaid',
  'conflict',
  'failure',
  'failure_behind',
  'hang',
]

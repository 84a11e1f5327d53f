import { ownMembers, readWebhookChecks } from '@countersign/client/kernel'
import {
  SeenWebhooks,
  WEBHOOK_TYPES,
  type WebhookEvent,
  type WebhookEventData,
  type WebhookEventOf,
} from '@countersign/client/webhook'
import { checkKnown, checkOne, isFunctionOrNone } from './option-checks.js'
import { warnOfWebhookFaults } from './webhook-faults.js'

/** What handles one type of event. It is done when its promise resolves. */
export type WebhookHandlers = {
  readonly [Type in keyof WebhookEventData]?: ((event: WebhookEventOf<Type>) => unknown) | undefined
}

/** Remembers the events that were handled. A store behind it may serve several processes; each receiver needs one of its own. */
export interface HandledWebhooks {
  /** Whether the event was handled. Throws or rejects when it cannot tell: the server then sends the event again. */
  has(id: string): boolean | Promise<boolean>
  /** Notes an event as handled, until a time in milliseconds since 1970. */
  add(id: string, untilMs: number): unknown
}

/** What a route that gets webhooks does with them. */
export interface WebhookReceiverOptions {
  /** The secret of the webhook, `whsec_…`; several while it is being rotated. */
  readonly secret: string | readonly string[]
  /** What is done with each type of event. */
  readonly on: WebhookHandlers
  /** What is done with every other event, those of a newer server included. Left out: they are answered 204, and that is all. */
  readonly otherwise?: ((event: WebhookEvent) => unknown) | undefined
  /** Default: a memory of this process, for this receiver, of 100,000 events. */
  readonly seen?: HandledWebhooks | undefined
  /**
   * Is told why a delivery was not answered 204, or could not be noted: `event` is null for one that does not verify. What it throws
   * is ignored. Without it, faults that only the operator can fix are process warnings, once per process and kind.
   */
  readonly onError?: ((error: unknown, event: WebhookEvent | null) => unknown) | undefined
  /** How far the time of sending may be from now, either way. Default 300. */
  readonly toleranceSeconds?: number | undefined
  /** The clock, in milliseconds since 1970; default `Date.now`. */
  readonly now?: (() => number) | undefined
}

/** The options, whole. */
export interface WebhookReceiverSettings {
  readonly check: Pick<WebhookReceiverOptions, 'secret' | 'toleranceSeconds' | 'now'>
  /** What is done with this event; undefined: nothing. */
  readonly handlerOf: (event: WebhookEvent) => ((event: WebhookEvent) => unknown) | undefined
  readonly seen: HandledWebhooks
  readonly now: () => number
  /** Never throws. */
  readonly report: (error: unknown, event: WebhookEvent | null) => void
  /** Is told of every delivery that verifies. */
  readonly noteVerified: () => void
}

const KNOWN_OPTIONS = [
  'secret',
  'on',
  'otherwise',
  'seen',
  'onError',
  'toleranceSeconds',
  'now',
] as const satisfies readonly (keyof WebhookReceiverOptions)[]

/** @throws TypeError naming the faulty option */
export function readReceiverOptions(options: WebhookReceiverOptions): WebhookReceiverSettings {
  checkKnown('webhookReceiver', options, KNOWN_OPTIONS)
  const given = ownMembers(options)
  const { secret, on, otherwise, onError, toleranceSeconds, now = Date.now } = given
  readWebhookChecks({ secret, toleranceSeconds, now })
  const { seen = new SeenWebhooks({ now }) } = given
  checkOne('on', typeof on === 'object' && on !== null, 'an object of functions, by the type of the event')
  const handlers = new Map<string, unknown>(Object.entries(on))
  for (const [type, handler] of handlers) {
    checkOne(`on['${type}']`, isFunctionOrNone(handler), 'a function')
    // Misspelt, it would never run, and its events would be answered 204.
    const isKnown = (WEBHOOK_TYPES as readonly string[]).includes(type)
    checkOne(`on['${type}']`, isKnown, 'left out, as this is no type of event; otherwise gets those of a newer server')
  }
  checkOne('otherwise', isFunctionOrNone(otherwise), 'a function')
  checkOne('onError', isFunctionOrNone(onError), 'a function')
  checkOne('seen', typeof seen?.has === 'function' && typeof seen.add === 'function', 'a memory with has and add')
  const faults = warnOfWebhookFaults()
  return {
    check: { secret, toleranceSeconds, now },
    handlerOf: ({ type }) =>
      (handlers.get(String(type)) ?? otherwise) as ReturnType<WebhookReceiverSettings['handlerOf']>,
    seen,
    now,
    report: quietly(onError ?? faults.report),
    noteVerified: faults.noteVerified,
  }
}

/** A listener holds up nothing, neither by throwing nor by a promise that rejects. */
function quietly(listener: WebhookReceiverSettings['report']): WebhookReceiverSettings['report'] {
  return (error, event) => {
    try {
      void Promise.resolve(listener(error, event)).catch(() => undefined)
    } catch {
      // Faults of the listener do not matter here.
    }
  }
}

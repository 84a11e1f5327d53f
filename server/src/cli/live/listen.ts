import type { LiveType } from '@countersign/client'
import { printable } from '@countersign/client/text'
import { readWebhookChecks } from '@countersign/client/webhook'
import { LIVE_TYPES } from '@countersign/contract'
import { systemClock } from '../../adapters/system-clock.js'
import { Sender, type SendResult } from '../../feed/webhooks/sender.js'
import { deliveryHeaders } from '../../feed/webhooks/signature.js'
import { generateWebhookSecret } from '../../webhook-secret.js'
import { faultOfWebhookUrl } from '../../webhook-url.js'
import { usageError } from '../exit.js'
import { followEvents } from './follow-events.js'
import { FORWARDED_TYPES, type ForwardedMessage, forwardedMessages } from './forwarded-message.js'
import { column, terminalColors } from './shown-text.js'

export interface ListenOptions {
  readonly forwardTo: string
  readonly url?: string
  /** Types, separated by commas. */
  readonly events?: string
  readonly secret?: string
}

/** The tested program runs on a machine of the person who runs the command. */
const URL_RULES = { allowsPrivate: true }

/** Forwards new decision events, as webhook deliveries, until a signal arrives. */
export async function listen(options: ListenOptions): Promise<number> {
  const fault = faultOf(options)
  if (fault !== null) throw usageError(fault)
  const { forwardTo, url, events } = options
  const wanted = new Set<string>(events?.split(',') ?? FORWARDED_TYPES)
  const secret = options.secret ?? generateWebhookSecret()
  const sender = new Sender(forwardTo, { ...URL_RULES, clock: systemClock() })
  const colors = terminalColors()
  try {
    return await followEvents({
      url,
      filters: { type: liveTypesOf(wanted) },
      begin: ({ print }) => print(`Forwarding to ${printable(forwardTo)}\nSecret ${secret}`),
      follow: async (event, { signal, print }) => {
        for (const message of forwardedMessages(event, wanted)) {
          const result = await sendUntil(signal, sender, message, secret)
          if (result === null) return
          await print(deliveryLine(message, event.data.id, result, colors))
        }
      },
    })
  } finally {
    sender.abort()
  }
}

function faultOf({ forwardTo, events, secret }: ListenOptions): string | null {
  const urlFault = faultOfWebhookUrl(forwardTo, URL_RULES)
  if (urlFault !== null) return `The URL of --forward-to ${urlFault}.`
  const known: ReadonlySet<string> = new Set(FORWARDED_TYPES)
  const stranger = events?.split(',').find((type) => !known.has(type))
  if (stranger !== undefined)
    return `--events cannot have ${column(stranger)}. It can have ${FORWARDED_TYPES.join(', ')}.`
  // Not shown, because it may still be a secret.
  if (secret !== undefined && !isSecret(secret)) return 'The secret must be whsec_ and the base64 of 24 to 64 bytes.'
  return null
}

/** Returns the live types to read for these messages: the creation event also covers a deny and a review. */
function liveTypesOf(wanted: ReadonlySet<string>): readonly LiveType[] {
  const isOfCreation = wanted.has('decision.denied') || wanted.has('decision.review_requested')
  return LIVE_TYPES.filter((type) => wanted.has(type) || (type === 'decision.created' && isOfCreation))
}

/** Null: the command is ending, and the answer is not awaited. */
async function sendUntil(signal: AbortSignal, sender: Sender, { id, body }: ForwardedMessage, secret: string) {
  const headers = deliveryHeaders({ id, at: new Date(), body }, [secret])
  const onAbort = (): void => sender.abort()
  signal.addEventListener('abort', onAbort, { once: true })
  const result = await sender.send(headers, body)
  signal.removeEventListener('abort', onAbort)
  return signal.aborted ? null : result
}

function deliveryLine(
  { type, id }: ForwardedMessage,
  decisionId: string,
  { status, error }: SendResult,
  colors: ReturnType<typeof terminalColors>,
): string {
  const color = error === null ? colors.green : colors.red
  const columns = [color(String(status ?? '-').padEnd(3)), type.padEnd(25), column(decisionId), id]
  return [...columns, ...(error === null ? [] : [error])].join('  ')
}

/** In the form that a verifying receiver accepts. */
function isSecret(secret: string): boolean {
  try {
    readWebhookChecks({ secret })
    return true
  } catch {
    return false
  }
}

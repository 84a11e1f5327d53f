/** Gates what a server handles besides requests: notifications of its client, and its own requests. */
import { DeniedError } from '@countersign/client'
import { asksForGate } from '../calls/elicitation.js'
import { readOther } from '../calls/other-params.js'
import { RefusedCall, serverRequestRefused, warnOfDropped } from '../calls/refusals.js'
import { runCall } from '../calls/run-call.js'
import type { ToolGate } from '../gate-options.js'
import { CLIENT_REQUESTS, isLookAlike, PASSING_NOTIFICATIONS } from '../rules/methods.js'
import type { ConnectionHook, HandledRequest } from './handler-hook.js'
import { requestContext } from './request-context.js'

/** The members that transports of both SDKs share. */
interface Transport {
  onmessage?: ((message: unknown, extra?: unknown) => void) | undefined
  send(message: unknown, options?: unknown): Promise<void>
  readonly sessionId?: string | undefined
}

/** The members that servers of both SDKs share. */
interface Notified {
  readonly transport?: Transport | undefined
  readonly _notificationHandlers?: { has(method: string): boolean }
  readonly fallbackNotificationHandler?: unknown
}

export class GatedConnection implements ConnectionHook {
  readonly #server: Notified
  readonly #watched = new WeakSet<object>()
  /** The message that the transport is delivering, with its extra about the sender. */
  #given: { readonly message: unknown; readonly extra: unknown } | undefined

  constructor(
    private readonly gate: ToolGate,
    server: object,
  ) {
    this.#server = server
    if (this.#server.transport !== undefined) this.onTransport(this.#server.transport)
  }

  onTransport(given: object): void {
    if (this.#watched.has(given)) return
    this.#watched.add(given)
    const transport = given as Transport
    const { onmessage } = transport
    transport.onmessage = (message, extra) => {
      this.#given = { message, extra }
      onmessage?.(message, extra)
    }
    const send = transport.send.bind(transport)
    transport.send = async (message, options) => {
      const refusal = this.#refusalOf(message)
      if (refusal !== undefined) throw refusal
      return send(message, options)
    }
  }

  onNotification(
    notification: HandledRequest,
    extra: unknown,
    handle: (notification: HandledRequest) => unknown,
  ): void {
    const method = String(notification.method)
    const isKnown = PASSING_NOTIFICATIONS.has(method)
    if (isKnown || this.gate.rules.isOpen(method) || !this.#isHandled(method)) return void handle(notification)
    // A request without an id would run, and would never be settled.
    if (CLIENT_REQUESTS.has(method) || isLookAlike(method)) return
    const seen = this.#given?.message === notification ? this.#given : undefined
    const sender = seen === undefined && extra === undefined ? undefined : { extra: extra ?? seen?.extra }
    this.#ask(method, notification, sender, handle).catch((error: unknown) => {
      if (error instanceof RefusedCall) warnOfDropped(method, error)
    })
  }

  async #ask(
    method: string,
    notification: HandledRequest,
    sender: { readonly extra: unknown } | undefined,
    handle: (notification: HandledRequest) => unknown,
  ): Promise<void> {
    const { authInfo, sessionId = this.#server.transport?.sessionId } = requestContext(sender?.extra)
    const read = readOther({ method, params: notification.params }, { authInfo, sessionId })
    if ('code' in read) throw new RefusedCall(new DeniedError('arguments_refused', { detail: read.message }))
    const { paramsWith, ...asked } = read
    // Without its sender the notification could act as this program.
    const fault = sender === undefined ? new DeniedError('mapping_failed') : asked.fault
    await runCall(this.gate, { ...asked, fault }, async (args, brought) => {
      const { params } = notification
      handle(params === undefined ? notification : { ...notification, params: paramsWith(args, brought) })
      return {}
    })
  }

  /** Without a handler a notification has no effect. */
  #isHandled(method: string): boolean {
    const { _notificationHandlers: handlers, fallbackNotificationHandler: fallback } = this.#server
    return fallback !== undefined || (handlers?.has(method) ?? true)
  }

  #refusalOf(message: unknown): RefusedCall | undefined {
    const { method, id } = Object(message)
    const isRequest = typeof method === 'string' && id !== undefined
    const isRefused = isRequest && this.gate.point.mode === 'enforce' && !this.gate.rules.passesToClient(method)
    if (!isRefused || asksForGate.getStore() === true) return undefined
    return new RefusedCall(serverRequestRefused(method))
  }
}

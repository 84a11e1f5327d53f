/** What the suite has to know of an integration: how to guard an action with it, and how to call the action through it. */
import type { JsonObject } from '@countersign/contract'

/** One integration in its own framework. */
export interface EnforcementAdapter {
  /** How it is called in the names of tests. */
  readonly name: string
  /** Cases that the framework cannot express, by title, each with the reason. Only optional cases may be among them. */
  readonly doesNotApply?: Readonly<Record<string, string>>
  /** Guards `act` with a client of its own. Opened twice, it is two processes that know nothing of one another. */
  open(setup: GuardSetup): OpenedGuard | Promise<OpenedGuard>
}

export interface GuardSetup {
  /** Of the decision point. */
  readonly baseUrl: string
  readonly apiKey: string
  /** Of the integration, as they are: every integration has them. */
  readonly options: GuardSetupOptions
  readonly act: Act
}

export interface GuardSetupOptions {
  readonly mode?: 'observe'
  readonly review?: 'wait' | 'throw'
  readonly runs?: 'at-most-once'
  readonly timeoutMs?: number
  readonly reviewTimeoutMs?: number
  readonly settleTimeoutMs?: number
  readonly settleOn?: SettleOn
  readonly onError?: 'reject' | 'leave'
  readonly onEvent: (event: SeenEvent) => void
}

type SettleOn = (outcome: {
  readonly kind: 'succeeded' | 'failed' | 'unknown'
}) => { readonly settle: 'confirm'; readonly amount: number } | { readonly settle: 'leave' } | undefined

/** What an integration tells of, as far as the suite looks at it. */
export interface SeenEvent {
  readonly type: string
  readonly would?: string
  readonly settlement?: { readonly settle: string }
}

/**
 * The action behind the guard. It counts its own runs; what it rejects with is its own error. `pause` interrupts it in the way
 * of the framework, and lets it go on in the pass after: each pass gets past one pause more.
 */
export type Act = (given: Given, pause?: () => void) => Promise<Done>

/** What an action is given by the framework: what was permitted, and nothing that came later. */
export interface Given {
  readonly resource: string
  readonly context: JsonObject
}

export interface Done {
  /** For the caller. Plain JSON. What `saysFailure` is to be given back in the way in which the framework says so. */
  readonly value: JsonObject
  /** What it really cost, to be told in the way of the integration; absent: what was reserved. */
  readonly amount?: number
}

/** Whether the value of an action says that the action has failed. */
export function saysFailure({ isError, status }: JsonObject): boolean {
  return isError === true || status === 'error'
}

export interface OpenedGuard {
  /** Calls the guarded action once, through the framework. Never rejects. */
  call(call: GuardedCall): Promise<CallOutcome>
  /**
   * Reads what the framework offers beside actions, such as a resource of MCP: as `call`, with the resource as its name, and what `act`
   * gives back as its content. Absent where a framework has nothing of the kind. Never rejects.
   */
  read?(call: GuardedCall): Promise<CallOutcome>
  /** Tells the decision point what is not told yet: how many settlements are still open after the time, in milliseconds. */
  flush(timeoutMs: number): Promise<number>
  close(): void | Promise<void>
}

export interface GuardedCall {
  readonly agent_id: string
  readonly action: string
  readonly resource: string
  /** The arguments of the action, and the context of the question. */
  readonly context: JsonObject
  /** The same call again has the same key. */
  readonly idempotencyKey?: string
  /** Names the job that runs the action, where the integration lets a caller name it. */
  readonly holder?: string
  /** Of an action that pauses: the same call with the same name again resumes it. */
  readonly thread?: string
  /** Once it is aborted, the caller leaves. */
  readonly signal?: AbortSignal
  /** To be called once the framework has noticed that the caller has left. */
  readonly onLeft: () => void
  /**
   * `throws`: what maps the call to a question throws. `unmapped`: nobody says which action it is. `misspelt`: it makes the
   * resource of a member that the arguments do not have, in the way of the framework: `order:` and whatever that member is.
   */
  readonly mapping: 'sound' | 'throws' | 'unmapped' | 'misspelt'
  /** To be given, before the question, the very object in which the framework holds the arguments: the suite changes it. */
  readonly onArguments: (args: Record<string, unknown>) => void
}

/** What the caller has got. `shown` is all that it can read of it: text, headers, members. */
export type CallOutcome =
  | { readonly kind: 'value'; readonly value: unknown; readonly shown: string }
  | { readonly kind: 'denied'; readonly reason: string; readonly decision_id: string | null; readonly shown: string }
  /** With the error of the action as the framework has it, where it would be without a guard. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly shown: string }
  /** It has interrupted itself, and can be resumed. */
  | { readonly kind: 'paused' }
  /** The caller had left. */
  | { readonly kind: 'aborted' }

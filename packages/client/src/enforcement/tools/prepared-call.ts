/** The arguments of a tool call, held from the question on: what runs is what was asked about. */
import { DeniedError } from '../../errors/denied-error.js'
import type { GuardRequest } from '../arguments/asked.js'
import { heldData } from '../arguments/held-data.js'
import { type CalledTool, type QuestionSettings, questionOfTool, type ToolMapping } from './tool-question.js'

/** A call that is to be asked about. */
export interface CallToPrepare<Call extends CalledTool> {
  readonly call: Call
  readonly args: unknown
  readonly mapping: ToolMapping<Call> | undefined
  /** Gives the mapping the arguments as the tool will have them, where they have not passed its schema yet. */
  readonly parse?: ((args: unknown) => unknown) | undefined
}

export interface PreparedCall {
  /** For `admit`. @throws what kept the call from being mapped */
  readonly request: () => GuardRequest
  /** The arguments to run with: a copy of their own each time, for a tool may change what it is given. */
  readonly toRun: () => unknown
  /** The question and the frozen arguments; null where the call could not be mapped. */
  readonly question: { readonly request: GuardRequest; readonly args: unknown } | null
}

/** Maps a call to its question; whatever keeps it from that is a fault of asking, and never thrown here. */
export async function prepareToolCall<Call extends CalledTool>(
  settings: QuestionSettings<Call>,
  { call, args, mapping, parse }: CallToPrepare<Call>,
): Promise<PreparedCall> {
  try {
    const take = hold(args)
    const request = questionOfTool(settings, mapping, parse ? await parse(take()) : take(), call)
    return {
      request: () => request,
      toRun: () => structuredClone(take()),
      question: { request, args: take() },
    }
  } catch (error) {
    const request = (): never => {
      throw error
    }
    // In the mode `observe` it runs, as it came.
    return { request, toRun: () => args, question: null }
  }
}

/** @throws DeniedError (`arguments_refused`) for anything but plain data */
function hold(args: unknown): () => unknown {
  try {
    return heldData(args, 'arguments')
  } catch (error) {
    throw new DeniedError('arguments_refused', { cause: error })
  }
}

import {
  type ToolGuardOptions as KernelGuardOptions,
  type ToolGuard as KernelToolGuard,
  toolGuard as kernelGuard,
} from '@countersign/client/kernel'
import type { GuardedToolCall, ToolMapping } from './guarded-tool-call.js'

/** What becomes of a review, by what it is for the enforcement point. */
const REVIEWS = { deny: 'throw', interrupt: 'pause', wait: 'wait' } as const

type Review = keyof typeof REVIEWS

/** What every guard of this package is told. */
export interface ToolGuardOptions extends KernelGuardOptions<GuardedToolCall, Review> {
  /**
   * What awaits a review: `deny` it (default), with words for the model; `interrupt` the graph with a ReviewRequest until the
   * app resumes it, which needs a checkpointer; or `wait` until a person has answered. Whatever a graph is resumed with, what
   * was answered at the decision point counts.
   */
  readonly review?: Review | undefined
}

/** For guards of several tools. */
export interface ToolsGuardOptions extends ToolGuardOptions {
  /** What a call of each tool is about, by the name of the tool. */
  readonly map?: Readonly<Record<string, ToolMapping>> | undefined
}

/** Where a guard asks, and what becomes of a review. */
export type ToolGuard = KernelToolGuard<GuardedToolCall, Review>

/** @throws TypeError naming the faulty option */
export const toolGuard = (options: ToolGuardOptions): ToolGuard => kernelGuard(options, REVIEWS)

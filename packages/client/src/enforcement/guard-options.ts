import type { CallSignal } from '../options.js'
import { ENFORCEMENT_OPTIONS, type EnforcementOptions } from './enforcement-options.js'
import type { AdmitOptions } from './running/admission.js'
import { PROTECT_MAPPING, type ProtectMapping } from './running/protect.js'

/** For one guarded action that runs to its end. To pause one, use an enforcement point. */
export interface GuardOptions<Signal extends CallSignal = CallSignal>
  extends EnforcementOptions,
    Omit<AdmitOptions<Signal>, 'pauseBy' | 'goOnWith'> {}

/** For a function that is protected. */
export interface ProtectOptions<Args extends readonly unknown[]> extends EnforcementOptions, ProtectMapping<Args> {}

export const GUARD_OPTIONS = [
  ...ENFORCEMENT_OPTIONS,
  'signal',
  'idempotencyKey',
  'holder',
  'claimHolder',
  'variant',
  'tag',
  'nested',
] as const satisfies readonly (keyof GuardOptions)[]

export const PROTECT_OPTIONS = [
  ...ENFORCEMENT_OPTIONS,
  ...PROTECT_MAPPING,
] as const satisfies readonly (keyof ProtectOptions<[]>)[]

import type { CallSignal } from '../options.js'
import type { AdmitOptions } from './admission.js'
import type { EnforcementOptions } from './enforcement-options.js'
import type { ProtectMapping } from './protect.js'

/** For one guarded action. */
export interface GuardOptions<Signal extends CallSignal = CallSignal>
  extends EnforcementOptions,
    AdmitOptions<Signal> {}

/** For a function that is protected. */
export interface ProtectOptions<Args extends readonly unknown[]> extends EnforcementOptions, ProtectMapping<Args> {}

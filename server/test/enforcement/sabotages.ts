/** Guards that break one promise each, made of a sound one, with the cases of the suite that have to notice. */
import type { Sabotage } from '@countersign/testkit/enforcement-suite'
import { AT_MOST_ONCE_SABOTAGES } from './sabotages/at-most-once.js'
import { FAULT_SABOTAGES } from './sabotages/faults.js'
import { OBSERVING_SABOTAGES } from './sabotages/observing.js'
import { PAUSE_SABOTAGES } from './sabotages/pauses.js'
import { PERMISSION_SABOTAGES } from './sabotages/permissions.js'
import { RESOURCE_SABOTAGES } from './sabotages/resources.js'
import { SECRET_SABOTAGES } from './sabotages/secrets.js'
import { SETTLEMENT_SABOTAGES } from './sabotages/settlements.js'

export const SABOTAGES: readonly Sabotage[] = [
  ...PERMISSION_SABOTAGES,
  ...AT_MOST_ONCE_SABOTAGES,
  ...FAULT_SABOTAGES,
  ...SETTLEMENT_SABOTAGES,
  ...PAUSE_SABOTAGES,
  ...OBSERVING_SABOTAGES,
  ...SECRET_SABOTAGES,
  ...RESOURCE_SABOTAGES,
]

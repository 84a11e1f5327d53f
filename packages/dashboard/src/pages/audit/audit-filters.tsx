import type { AuditType } from '@countersign/contract'
import { Button, Group, Select, TextInput } from '@mantine/core'
import { type FormEvent, useEffect, useState } from 'react'
import type { AuditFilters as Filters } from '../../api/audit'

/** Complete: one that is missing here does not compile. */
const TYPES: Readonly<Record<AuditType, true>> = {
  'decision.created': true,
  'decision.approved': true,
  'decision.declined': true,
  'decision.claimed': true,
  'decision.confirmed': true,
  'decision.rejected': true,
  'decision.corrected': true,
  'decision.expired': true,
  'decision.redeemed': true,
  'policy.created': true,
  'policy.updated': true,
  'policy.deleted': true,
  'agent.created': true,
  'agent.updated': true,
  'agent.deleted': true,
  'agent.suspended': true,
  'agent.resumed': true,
  'key.created': true,
  'key.rotated': true,
  'key.revoked': true,
  'key.signed_in': true,
  'key.signed_out': true,
  'webhook.created': true,
  'webhook.updated': true,
  'webhook.deleted': true,
  'webhook.disabled': true,
  'budget.threshold': true,
  'budget.exceeded': true,
  'signing_key.created': true,
  'signing_key.rotated': true,
  'signing_key.revoked': true,
  'store.loss_accepted': true,
  'request.erased': true,
  void: true,
}

const TEXTS = [
  ['agent_id', 'Agent', 'agent:support-7'],
  ['decision_id', 'Decision', 'dec_…'],
] as const

export interface AuditFiltersProps {
  readonly filters: Filters
  readonly onChange: (filters: Filters) => void
}

/** What is typed counts when Enter is pressed or the field is left: each letter would be a search of its own. */
export function AuditFilters({ filters, onChange }: AuditFiltersProps) {
  const [draft, setDraft] = useState<{ readonly [Name in keyof Filters]: string | undefined }>(filters)
  useEffect(() => setDraft(filters), [filters])
  const apply = (next: typeof draft) =>
    onChange(Object.fromEntries(Object.entries(next).filter(([, value]) => value !== undefined && value !== '')))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    apply(draft)
  }
  return (
    <form onSubmit={submit} aria-label="Filters">
      <Group gap="xs" align="flex-end">
        <Select
          label="Type"
          w={210}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': 'Any type' }}
          placeholder="any"
          data={Object.keys(TYPES)}
          value={filters.type ?? null}
          onChange={(type) => apply({ ...draft, type: type ?? undefined })}
        />
        {TEXTS.map(([name, label, placeholder]) => (
          <TextInput
            key={name}
            label={label}
            placeholder={placeholder}
            w={240}
            value={draft[name] ?? ''}
            onChange={(event) => setDraft({ ...draft, [name]: event.currentTarget.value.trim() })}
            onBlur={() => (draft[name] ?? '') !== (filters[name] ?? '') && apply(draft)}
          />
        ))}
        <Button type="submit" variant="default">
          Filter
        </Button>
        {Object.keys(filters).length > 0 && (
          <Button variant="subtle" onClick={() => onChange({})}>
            Remove the filters
          </Button>
        )}
      </Group>
    </form>
  )
}

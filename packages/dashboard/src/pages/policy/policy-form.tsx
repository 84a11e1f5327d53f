import type { Json } from '@countersign/contract'
import { Stack, Title } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useRef } from 'react'
import { Notice } from '../../components/notice'
import { BasicsForm } from './basics-form'
import { BudgetForm } from './budget-form'
import { type FormProps, isObject, type JsonMembers } from './members'
import { RulesForm } from './rules-form'

const PAUSE_MS = 800

export interface PolicyFormProps extends Pick<FormProps, 'edit'> {
  /** The parsed text; undefined while it is not valid JSON. */
  readonly value: Json | undefined
}

/** The policy as a form. While the text is not valid JSON, the form shows the last valid version, read-only. */
export function PolicyForm({ value, edit }: PolicyFormProps) {
  const last = useRef<JsonMembers>({})
  const isReadOnly = !isObject(value)
  // While the user types, the text is often invalid for a moment.
  const [isStuck] = useDebouncedValue(isReadOnly, PAUSE_MS)
  if (isObject(value)) last.current = value
  const props = { policy: last.current, edit, isReadOnly }
  return (
    <Stack gap="lg">
      {isReadOnly && isStuck && (
        <Notice kind="warning" title="The text is not valid JSON">
          The form shows the last valid version. Fix the text to continue here.
        </Notice>
      )}
      <BasicsForm {...props} />
      <section aria-label="Rules">
        <Title order={2} size="h4" mb={4}>
          Rules
        </Title>
        <RulesForm {...props} />
      </section>
      <section aria-label="Budget">
        <Title order={2} size="h4" mb={4}>
          Budget
        </Title>
        <BudgetForm {...props} />
      </section>
    </Stack>
  )
}

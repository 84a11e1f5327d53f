/** The budget of a policy as a form. */
import type { BudgetPeriod, Json } from '@countersign/contract'
import { Button, NativeSelect, Text, TextInput } from '@mantine/core'
import { PlusIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { setMember } from './edit-text'
import classes from './form.module.css'
import { type FormProps, isObject, textOf } from './members'
import { NumberField } from './number-field'

/** A record, so that a missing period does not compile. */
const PERIODS = Object.keys({
  hourly: true,
  daily: true,
  weekly: true,
  monthly: true,
  yearly: true,
  total: true,
} satisfies Record<BudgetPeriod, true>)
const NEW_BUDGET = { limit: 1000, unit: 'EUR', period: 'monthly' }

export function BudgetForm({ policy, edit, isReadOnly }: FormProps) {
  const { budget } = policy
  if (budget === undefined)
    return (
      <>
        <Text className="quiet" size="sm" mb="xs">
          None: its rules have no spending limit.
        </Text>
        <Button
          size="xs"
          variant="default"
          leftSection={<PlusIcon size={14} />}
          disabled={isReadOnly}
          onClick={() => edit((text) => setMember(text, [], 'budget', NEW_BUDGET))}
        >
          Add a budget
        </Button>
      </>
    )
  if (!isObject(budget)) return <Text className="quiet">“budget” is not an object. Fix it in the text.</Text>
  const set = (key: string, value: unknown) => edit((text) => setMember(text, ['budget'], key, value))
  const choice = (label: string, key: string, values: readonly string[], absent: string) => {
    const value = textOf(budget[key] ?? absent)
    return (
      <NativeSelect
        label={label}
        size="xs"
        disabled={isReadOnly}
        data={values.includes(value) ? [...values] : [value, ...values]}
        value={value}
        onChange={(event) => set(key, event.currentTarget.value)}
      />
    )
  }
  const { amount } = budget
  return (
    <>
      <div className={classes.budget}>
        <NumberField
          label="Limit"
          disabled={isReadOnly}
          value={budget.limit}
          onChange={(value) => set('limit', value)}
        />
        <TextInput
          label="Unit"
          disabled={isReadOnly}
          value={textOf(budget.unit)}
          onChange={(event) => set('unit', event.currentTarget.value)}
        />
        {choice('Period', 'period', PERIODS, '')}
        {choice('One account for', 'scope', ['policy', 'agent'], 'policy')}
        {choice('Over the limit', 'on_exceed', ['deny', 'review'], 'deny')}
        <AmountField value={amount} disabled={isReadOnly} onChange={(value) => set('amount', value)} />
      </div>
      <Button
        mt="xs"
        size="xs"
        variant="subtle"
        color="gray"
        disabled={isReadOnly}
        onClick={() => edit((text) => setMember(text, [], 'budget', undefined))}
      >
        Remove the budget
      </Button>
    </>
  )
}

interface AmountFieldProps {
  readonly value: Json | undefined
  readonly disabled: boolean
  /** Called with undefined when the field is empty. */
  readonly onChange: (value: string | number | undefined) => void
}

function AmountField({ value, disabled, onChange }: AmountFieldProps) {
  // The typed text is kept: `1.0` may become `1.05`.
  const [typed, setTyped] = useState<string | null>(null)
  return (
    <TextInput
      label="Amount"
      placeholder="context.amount"
      disabled={disabled}
      value={typed ?? textOf(value)}
      onChange={(event) => {
        setTyped(event.currentTarget.value)
        onChange(amountOf(event.currentTarget.value.trim()))
      }}
      onBlur={() => setTyped(null)}
    />
  )
}

/** Reads a path or a fixed amount. */
function amountOf(text: string): string | number | undefined {
  if (text === '') return undefined
  return /^[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : text
}

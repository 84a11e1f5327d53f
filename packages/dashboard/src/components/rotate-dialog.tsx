import { NativeSelect, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useOnceKey } from '../api/once'
import { DialogButtons } from './dialog'
import { ErrorNotice } from './notice'
import { type OnceSecret, SecretOnce } from './secret-once'

/** How long the old secret may stay valid, in seconds. The server accepts up to 7 days. */
const GRACES = [
  [0, 'not at all (after a leak)'],
  [900, '15 minutes'],
  [3_600, '1 hour'],
  [86_400, '1 day'],
  [259_200, '3 days'],
  [604_800, '7 days'],
] as const
const USUAL = 86_400

export interface RotateDialogProps {
  readonly title: string
  readonly opened: boolean
  readonly onClose: () => void
  /** What is rotated, and what happens to the old secret. */
  readonly explanation: string
  /** @param key the same for every attempt of this form: see `once` */
  readonly rotate: (graceSeconds: number, key: string) => Promise<OnceSecret>
}

/** Asks how long the old secret stays valid, creates a new one, and shows it once. */
export function RotateDialog({ title, opened, onClose, explanation, rotate }: RotateDialogProps) {
  return (
    <SecretOnce title={title} opened={opened} onClose={onClose}>
      {(show) => (
        <RotateForm
          onClose={onClose}
          explanation={explanation}
          rotate={async (graceSeconds, key) => show(await rotate(graceSeconds, key))}
        />
      )}
    </SecretOnce>
  )
}

/** Says when the old secret ends: `at once`, or `in 1 day`. */
export function endOfGrace(seconds: number): string {
  const name = GRACES.find(([length]) => length === seconds)?.[1]
  return seconds === 0 ? 'at once' : `in ${name ?? `${seconds} seconds`}`
}

interface RotateFormProps extends Pick<RotateDialogProps, 'onClose' | 'explanation'> {
  readonly rotate: (graceSeconds: number, key: string) => Promise<void>
}

function RotateForm({ onClose, explanation, rotate }: RotateFormProps) {
  const [grace, setGrace] = useState<number>(USUAL)
  const { key } = useOnceKey()
  const rotation = useMutation({ mutationFn: (graceSeconds: number) => rotate(graceSeconds, key) })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    rotation.mutate(grace)
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <Text>{explanation}</Text>
        <NativeSelect
          label="The old secret stays valid"
          value={String(grace)}
          onChange={(event) => setGrace(Number(event.currentTarget.value))}
          data={GRACES.map(([seconds, label]) => ({ value: String(seconds), label }))}
          data-autofocus
        />
        {rotation.isError && <ErrorNotice error={rotation.error} />}
        <DialogButtons action="Rotate" onCancel={onClose} isPending={rotation.isPending} />
      </Stack>
    </form>
  )
}

import type { Policy } from '@countersign/contract'
import { Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { deletePolicy } from '../../api/policies'
import { DialogButtons } from '../../components/dialog'
import { visibleText } from '../../components/invisible'
import { ErrorNotice } from '../../components/notice'

export interface DeletePolicyProps {
  readonly policy: Policy
  readonly onClose: () => void
}

/** The confirmation before a policy is deleted. It asks for the name, so that a user does not delete the wrong policy. */
export function DeletePolicy({ policy, onClose }: DeletePolicyProps) {
  const { id, name, revision } = policy
  const [typed, setTyped] = useState('')
  const client = useQueryClient()
  const navigate = useNavigate()
  const run = useMutation({
    mutationFn: () => deletePolicy(id, revision),
    onSuccess: async () => {
      await navigate({ to: '/policies', ignoreBlocker: true })
      client.removeQueries({ queryKey: ['policies', id] })
      await client.invalidateQueries({ queryKey: ['policies'] })
    },
  })
  // A name may contain characters that no keyboard types, so the id is accepted too.
  const isMeant = [name.trim(), id].includes(typed.trim())
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isMeant) run.mutate()
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <Text>
          It stops applying from the next request, and its name can be reused. Its revisions and decisions are kept, and
          amounts reserved in its budget are still settled.
        </Text>
        <TextInput
          label="Type the policy name to confirm"
          description={visibleText(name)}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          data-autofocus
          autoComplete="off"
        />
        {run.isError && <ErrorNotice error={run.error} />}
        <DialogButtons action="Delete" onCancel={onClose} isPending={run.isPending} isDangerous isDisabled={!isMeant} />
      </Stack>
    </form>
  )
}

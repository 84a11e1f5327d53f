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

/** The question before a policy is deleted. It is answered by its name, so that it is the right one. */
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
  // A name may hold what no keyboard writes: the id will do.
  const isMeant = [name.trim(), id].includes(typed.trim())
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isMeant) run.mutate()
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <Text>
          It decides nothing from the next request on, and its name is free. Its revisions and the decisions that it
          made stay; what is reserved in its budget is still settled.
        </Text>
        <TextInput
          label="Type the name of the policy"
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

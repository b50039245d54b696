"""What the offline model says, in English and Chinese. It is honest about what it is (O2)."""

from collections.abc import Mapping

from assistant.deliveries import Language

_WORDS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "ability": "offline mode: I can summarise a "
        "file (“summarise notes.txt into summary.md”), copy one (“copy a.txt to b.txt”), write or append text "
        "(“write 'hello' to note.txt”), list and show files (“list files”, “read notes.txt”), list, show and stop "
        "tasks (“list tasks”, “show task …”, “stop task …”), and do such work at a later time or again and again "
        "(“every weekday at 8, summarise notes.txt into today.md”, “list automations”, “pause automation …”). No "
        "language model is set up, so I understand "
        "only requests like these.",
        "in_hand": "That is in hand as a task: “{title}”. Its result will appear here.",
        "which_attachment": "Which attachment do you mean? Please name it: {names}.",
        "no_attachment": "There is no attachment with this message. Please name the file.",
        "tool_error": "That did not work: {message}",
        "written": "Done: {path} is written.",
        "no_files": "There are no files here.",
        "files": "Files:",
        "more": "There are more.",
        "no_tasks": "There are no tasks.",
        "tasks": "Tasks:",
        "no_such_task": "I find no task called “{name}”.",
        "task_result": "Result:",
        "file_begins": "{path} begins with:",
        "file_says": "{path}:",
        "file_empty": "{path} is empty.",
        "which_file": "There is no file {path}. Which file do you mean?",
        "not_answered": "There is no file {path}, and the question which one is meant was not answered. Nothing was "
        "done.",
        "answer_passed_on": "I have passed your answer on to the task.",
        "which_question": "Several tasks wait for an answer. Please begin your answer with the task's title and a "
        "colon, or answer on its card:",
        "which_task": "Which task do you mean?",
        "nothing_to_stop": "No task is in progress, so there is nothing to stop.",
        "stopping": "The task is being stopped. Nothing new of it begins; what has begun is waited for.",
        "title_summarise": "Summarise {source} into {target}",
        "title_summary": "Summarise {source}",
        "title_copy": "Copy {source} to {target}",
        "summary_head": "Summary of {source}",
        "summary_of_part": "The file is long; this covers its beginning.",
        "empty_source": "{source} holds no text to summarise.",
        "summarised": "The summary of {source} is in {target}:",
        "summary_only": "Summary of {source}:",
        "copied": "{source} is copied to {target}.",
        "appended": "The text is appended to {target}.",
        "not_written": "{target} was not written, because nobody decided in time. The summary of {source}:",
        "too_large": "{source} is too large to be read whole, so nothing was changed.",
        "approval_denied": "Writing {target} was not allowed, so nothing was changed.",
        "approval_expired": "Nobody decided in time whether {target} may be written, so nothing was changed.",
        "approval_invalidated": "The approval for {target} became invalid before it was used; nothing was changed.",
        "precondition_changed": "{target} was changed by someone else meanwhile, so it was left alone.",
        "protected_path": "{path} is outside of what may be touched.",
        "not_found": "There is no file {path}.",
        "effect_outcome_unknown": "It is not known whether {target} was written. Please look at it.",
        "not_understood": "offline mode: I can only summarise, copy, write and append files, and this assignment is "
        "something else. Nothing was done.",
        "failed": "{path}: {message}",
    },
    "zh": {
        "ability": "离线模式：我可以总结文件（“总结 notes.txt 到 summary.md”）、"
        "复制文件（“复制 a.txt 到 b.txt”）、"
        "写入或追加文字（“把“你好”写入 note.txt”）、"
        "列出和显示文件（“列出文件”、“读取 notes.txt”），"
        "列出、显示和停止任务（“任务列表”、“查看任务 …”、“停止任务 …”），"
        "以及定时做这些事（“每个工作日 8 点总结 notes.txt 到 today.md”、“自动化列表”、“暂停自动化 …”）。"
        "没有设置语言模型，所以我只能理解这样的请求。",
        "in_hand": "已经作为任务“{title}”交办，结果会出现在这里。",
        "which_attachment": "你指的是哪个附件？请说出名称：{names}。",
        "no_attachment": "这条消息没有附件，请说出文件名。",
        "tool_error": "没有成功：{message}",
        "written": "完成：已写入 {path}。",
        "no_files": "这里没有文件。",
        "files": "文件：",
        "more": "还有更多。",
        "no_tasks": "没有任务。",
        "tasks": "任务：",
        "no_such_task": "找不到名为“{name}”的任务。",
        "task_result": "结果：",
        "file_begins": "{path} 的开头：",
        "file_says": "{path}：",
        "file_empty": "{path} 是空的。",
        "which_file": "没有文件 {path}。你指的是哪个文件？",
        "not_answered": "没有文件 {path}，而指的是哪个文件的问题没有得到回答。什么都没有做。",
        "answer_passed_on": "已把你的回答转给任务。",
        "which_question": "有几项任务在等待回答。请在回答前写上任务标题和冒号，或在卡片上回答：",
        "which_task": "你指的是哪项任务？",
        "nothing_to_stop": "没有进行中的任务，无需停止。",
        "stopping": "正在停止该任务。不会再开始新的操作，已开始的会等待其结果。",
        "title_summarise": "总结 {source} 到 {target}",
        "title_summary": "总结 {source}",
        "title_copy": "复制 {source} 到 {target}",
        "summary_head": "{source} 的摘要",
        "summary_of_part": "文件较长，这里只包括开头部分。",
        "empty_source": "{source} 中没有可以总结的文字。",
        "summarised": "{source} 的摘要已写入 {target}：",
        "summary_only": "{source} 的摘要：",
        "copied": "已把 {source} 复制到 {target}。",
        "appended": "文字已追加到 {target}。",
        "not_written": "没有人及时作出决定，{target} 未写入。{source} 的摘要：",
        "too_large": "{source} 太大，无法完整读取，什么都没有改变。",
        "approval_denied": "写入 {target} 未获允许，什么都没有改变。",
        "approval_expired": "没有人及时决定是否可以写入 {target}，什么都没有改变。",
        "approval_invalidated": "对 {target} 的批准在使用之前失效，什么都没有改变。",
        "precondition_changed": "{target} 在此期间被改动，因此没有动它。",
        "protected_path": "{path} 不在允许触及的范围内。",
        "not_found": "没有文件 {path}。",
        "effect_outcome_unknown": "不知道 {target} 是否已写入，请查看。",
        "not_understood": "离线模式：我只能总结、复制、写入和追加文件，这项任务不在其中。什么都没有做。",
        "failed": "{path}：{message}",
    },
}


def say(key: str, language: Language, **values: str) -> str:
    """One of the sentences above with its values filled in."""
    return _WORDS[language][key].format(**values)


def say_refused(code: str, language: Language, *, path: str, message: str) -> str:
    """Why a file could not be read or written, in words; codes without a sentence of their own keep the tool's."""
    words = _WORDS[language]
    return words.get(code, words["failed"]).format(path=path, target=path, source=path, message=message)

topic empty
title The last source is removed by a block: the loop waits for the next wakeup before noticing
flags quirk
slow 2
observer O all
source0 S
block B
at 60: wake
on B: remove S default
add O default; add S default; perform B default
run default 1 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
block B mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O exit mode=default
ran default FINISHED
end

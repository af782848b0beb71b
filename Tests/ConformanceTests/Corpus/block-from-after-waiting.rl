topic block
title A block queued in after-waiting runs in that pass, after the event
observer O after-waiting
source1 P
block B
on O: perform B default
add O default; add P default; write P
run default 2 yes
--- golden
run default
observer O after-waiting mode=default
source1 P mode=default
block B mode=default
ran default HANDLED
end

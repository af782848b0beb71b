topic empty
title source1 removes itself in its callback
observer O exit|before-waiting
source1 P
on P: remove P default
add O default; add P default; write P
run default 2 no
--- golden
run default
observer O before-waiting mode=default
source1 P mode=default
observer O exit mode=default
ran default FINISHED
end

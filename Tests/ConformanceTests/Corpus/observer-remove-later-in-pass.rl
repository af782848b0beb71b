topic observer
title An observer removed by an earlier one in the same notification is still called this time
flags quirk
observer A entry|exit order=1
observer B entry|exit order=2
source0 S
on A entry: remove B default
add A default; add B default; add S default
run default 0.02 no
--- golden
run default
observer A entry mode=default
observer B entry mode=default
observer A exit mode=default
ran default TIMEDOUT
end
--- right
run default
observer A entry mode=default
observer A exit mode=default
ran default TIMEDOUT
end
